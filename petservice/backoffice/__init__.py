"""The admin site of this service, with its dashboard, error views, and checks of the installation."""
