"""The way from environment variables and the generated secret key to settings, and the formats of dates."""
