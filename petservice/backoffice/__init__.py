"""The admin site of this service: dashboard, staff accounts, logins, groups and error views."""
