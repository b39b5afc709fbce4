"""The WSGI application, for `serve` and for any other WSGI server."""

import os

import django
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petservice.settings")
django.setup(set_prefix=False)

# `serve` has checked the configuration already. Another server must not start with an invalid one either.
if _errors := run_checks(tags=["petservice"]):  # pragma: no cover  # tested in a process without measurement
    raise ImproperlyConfigured(" ".join(str(error.msg) for error in _errors))

from petservice.handler import Handler  # noqa: E402  # needs the set-up above

application = Handler()
