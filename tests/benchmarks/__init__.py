"""Programs that measure. Django is set up before their modules, because these import models and helpers of tests."""

import logging
import os

import django
from django.apps import apps

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petservice.settings")
if not apps.ready:  # pytest sets Django up itself
    django.setup()
    logging.disable(logging.INFO)  # messages of HTTP clients and of the start of PostgreSQL
