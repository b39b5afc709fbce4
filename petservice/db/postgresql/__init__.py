"""Django's PostgreSQL backend, extended by the methods that both backends have."""
