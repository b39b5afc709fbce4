"""The seconds from `serve` to the first response, by stage."""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tests.benchmarks.databases import databases
from tests.benchmarks.served.sizes import FEW
from tests.service import ROOT, running_service

# The stages of `serve` before its workers start, and a program that prints the seconds of each stage.
STAGES = ("settings", "all apps", "checks", "migrations without unapplied ones", "gunicorn")
_STAGES = """
import os, time
marks = [time.monotonic()]
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petservice.settings")
import django
from django.conf import settings
settings.DEBUG
marks.append(time.monotonic())
django.setup()
marks.append(time.monotonic())
from django.core.checks import run_checks
run_checks()
marks.append(time.monotonic())
from django.core.management import call_command
call_command("migrate", interactive=False, verbosity=0, skip_checks=True)
marks.append(time.monotonic())
import gunicorn.arbiter, petservice.server.gunicorn_conf, petservice.server.worker, petservice.server.asgi
marks.append(time.monotonic())
print(*(after - before for before, after in zip(marks, marks[1:])))
"""


def start(name: str, folder: Path, rounds: int) -> None:
    with databases(name, FEW) as (seeded,):
        environment = os.environ | {"DATABASE_URL": seeded.url, "PETSERVICE_DATA_DIR": str(folder)}
        totals, parts = [], []
        for _ in range(rounds):
            began = time.monotonic()
            with running_service(folder, DATABASE_URL=seeded.url):
                totals.append(time.monotonic() - began)
            steps = [sys.executable, "-c", _STAGES]
            output = subprocess.run(steps, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
            parts.append(dict(zip(STAGES, map(float, output.stdout.split()), strict=True)))
        total = statistics.median(totals)
        medians = {stage: statistics.median(part[stage] for part in parts) for stage in STAGES}
        print(f"\n{name}, seconds from serve to the first response{total:20.2f}")
        medians["the rest: Python, the workers, the response"] = total - sum(medians.values())
        for stage, seconds in medians.items():
            print(f"  {stage:{len(name) + 50}}{seconds:10.2f}", flush=True)
