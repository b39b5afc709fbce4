"""Logging in: passwords and their limits, second factors, reauthentication, and the end of sessions."""
