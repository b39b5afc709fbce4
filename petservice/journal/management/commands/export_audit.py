import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from petservice.db.pending_migrations import DatabaseCommand
from petservice.exports.files import export
from petservice.journal.export import CSVExport
from petservice.journal.filters import EventFilterForm, record_types
from petservice.journal.models import Event
from petservice.journal.recording import record_done


def _option(field: str) -> str:
    """Return the option for a field in the form of the page."""
    return "--" + field.removeprefix("day_").replace("_", "-")


class Command(DatabaseCommand):
    help = "Export the audit to a CSV file, newest entry first. The options filter as on the page of the audit."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="An existing file is replaced. - for standard output.")
        choices = {"kind": Event.Kind.values, "record_type": sorted(record_types())}
        for field in EventFilterForm.base_fields:
            metavar = None if field in choices else "DAY" if field.startswith("day") else "TEXT"
            parser.add_argument(_option(field), dest=field, default="", choices=choices.get(field), metavar=metavar)

    def handle(self, *args: Any, file: str, **options: Any) -> None:
        form = EventFilterForm({field: options[field] for field in EventFilterForm.base_fields})
        if not form.is_valid():
            errors = [f"{_option(field)}: {' '.join(map(str, texts))}" for field, texts in form.errors.items()]
            raise CommandError(f"{' '.join(errors)} Nothing was exported.")
        started = time.monotonic()
        csv_export = CSVExport(form.events())
        if not export(csv_export.parts(), file):
            return
        message = f"Audit exported by the command export_audit. Filter: {form.in_words() or 'none'}."
        entry = {"target": Event, "message": message, "count": csv_export.count}
        record_done(self, Event.Kind.EXPORTED, "The export is complete.", **entry)
        entries = "entry" if csv_export.count == 1 else "entries"
        text = f"Exported {csv_export.count:,} {entries} in {time.monotonic() - started:.1f} s."
        self.stderr.write(text, self.style.SUCCESS)
