import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from petservice.backoffice.installation import findings
from petservice.configuration.effective import effective_settings
from petservice.db.backend import STATEMENT_TIMEOUT, time_limit


class Command(BaseCommand):
    help = (
        "Check the installation: configuration, database, disk, certificate, backup and more. Exits with 0 if all is "
        "in order, 1 after a warning and 2 after an error."
    )
    requires_system_checks = []  # their errors are in the report

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="Write the report as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        time_limit.set(STATEMENT_TIMEOUT)  # a lock or a silent server must not keep the report back
        found = findings()
        if options["json"]:
            report = {"checks": [finding._asdict() for finding in found], "settings": effective_settings()}
            self.stdout.write(json.dumps(report, indent=2))
        else:
            for finding in found:
                self.stdout.write(f"{finding.level:8} {finding.subject:12} {finding.text}")
                if finding.advice:
                    self.stdout.write(f"{'':21} {finding.advice}")
            self.stdout.write("\nSettings:")
            for setting in effective_settings():
                self.stdout.write(f"{setting['name']:26} {setting['value'] or '(empty)'}  ({setting['source']})")
        sys.exit({"error": 2, "warning": 1, "ok": 0}[found[0].level])  # the worst comes first
