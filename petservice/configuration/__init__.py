"""The way from environment variables to settings, the time zone of the store, and the formats of dates."""
