"""Django's SQLite backend, with writes that wait for the disk together and off the event loop."""
