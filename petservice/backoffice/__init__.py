"""The admin site of this service: dashboard, staff accounts, groups and error views."""
