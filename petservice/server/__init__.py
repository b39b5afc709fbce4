"""How a socket becomes a call of petservice.wsgi's handler: gunicorn on an event loop."""
