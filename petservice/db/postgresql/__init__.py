"""Django's PostgreSQL backend, with prepared statements and with waiting that lets other calls run."""
