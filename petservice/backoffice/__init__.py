"""The admin site of this service: dashboard and error views."""
