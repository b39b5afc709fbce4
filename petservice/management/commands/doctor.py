import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.checks import ERROR, WARNING, CheckMessage
from django.core.management.base import BaseCommand

from petservice.backoffice.installation import findings
from petservice.configuration.effective import effective_settings


class Command(BaseCommand):
    help = (
        "Check the installation: configuration, database, disk, certificate, backup and more. Exits with 0 if all is "
        "in order, 1 after a warning and 2 after an error."
    )
    requires_system_checks = []  # their errors are in the report

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="Write the report as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        messages = findings()
        checks = [{"subject": one.id, "level": level(one), "text": one.msg, "advice": one.hint} for one in messages]
        if options["json"]:
            report = {"checks": checks, "settings": [one._asdict() for one in effective_settings()]}
            self.stdout.write(json.dumps(report, indent=2))
        else:
            for check in checks:
                self.stdout.write(f"{check['level']:8} {check['subject']:12} {check['text']}")
                if check["advice"]:
                    self.stdout.write(f"{'':21} {check['advice']}")
            self.stdout.write("\nSettings:")
            for setting in effective_settings():
                self.stdout.write(f"{setting.name:26} {setting.value or '(empty)'}  ({setting.source})")
        worst = max((one.level for one in messages), default=0)
        sys.exit(2 if worst >= ERROR else 1 if worst >= WARNING else 0)


def level(message: CheckMessage) -> str:
    """Return the level of a message as a word."""
    return "error" if message.level >= ERROR else "warning" if message.level >= WARNING else "ok"
