#!/usr/bin/env python
"""Run a management command in a clone; `python manage.py serve` runs the service."""

from petservice.__main__ import main

if __name__ == "__main__":
    main()
