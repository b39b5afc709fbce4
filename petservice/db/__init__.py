"""The database backends for SQLite and PostgreSQL. Nothing here imports the API or the server."""
