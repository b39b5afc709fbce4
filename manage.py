#!/usr/bin/env python
"""Run a management command; `python manage.py serve` runs the service."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petservice.settings")
    try:
        from django.core.management import execute_from_command_line

        from petservice.db.waiting import unlimited
    except ImportError:
        sys.exit("Django is not installed here: run `pip install -e .` in this virtual environment first.")
    unlimited.set(True)  # management commands have no statement timeout; `serve` resets this for its requests
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
