"""The admin site of this service, with its dashboard, breadcrumbs, JavaScript catalogue and error views."""
