"""How a statement reaches SQLite or PostgreSQL; knows neither the API nor the server."""
