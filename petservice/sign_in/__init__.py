"""Logging in: passwords and their limits, second factors, the own password, and the end of sessions."""
