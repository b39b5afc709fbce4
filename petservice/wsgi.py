import os

from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petservice.settings")

# What petservice.asgi calls. Another server can call it, too, but chunked bodies are not read then.
application = get_wsgi_application()

# `serve` has checked this already; a server started in another way must not run on a bad configuration either.
if _errors := run_checks(tags=["petservice"]):
    raise ImproperlyConfigured(" ".join(str(error.msg) for error in _errors))
