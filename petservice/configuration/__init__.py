"""How environment variables and the generated secret key become settings."""
