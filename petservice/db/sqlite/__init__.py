"""Django's SQLite backend, extended by the methods that both backends have."""
