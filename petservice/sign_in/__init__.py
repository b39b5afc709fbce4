"""Logging in: passwords and their throttling, second factors, confirmations, and the end of sessions."""
