"""The service that benchmarks measure, with Django set up for its test helpers."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petservice.settings")
django.setup()
# The imports below need the setup above.
# isort: split
from tests.faults.slow_clients import slow_clients  # noqa: E402
from tests.service import ROOT, Service, free_port, log_in, make_certificate, running_service  # noqa: E402
from tests.waiting import wait_until  # noqa: E402

__all__ = [
    "ROOT",
    "Service",
    "free_port",
    "log_in",
    "make_certificate",
    "running_service",
    "slow_clients",
    "wait_until",
]
