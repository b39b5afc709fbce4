"""The web server: gunicorn with an event loop, which turns bytes from sockets into calls of Django."""
