"""The WSGI application, for `serve` and for any other server."""

import os

import django
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petservice.settings")
django.setup(set_prefix=False)

# `serve` has checked this already; a server started in another way must not run on a bad configuration either.
if _errors := run_checks(tags=["petservice"]):
    raise ImproperlyConfigured(" ".join(str(error.msg) for error in _errors))

from petservice.handler import Handler  # noqa: E402  # needs what has been set up above

application = Handler()
