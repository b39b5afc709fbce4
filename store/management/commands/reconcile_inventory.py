from typing import Any

from django.db import transaction

from petservice.db.pending_migrations import DatabaseCommand
from petservice.journal.models import Event
from petservice.journal.recording import add_event_of_command
from petservice.journal.sentences import changed
from store.services import reconcile_inventory


class Command(DatabaseCommand):
    help = "Recount pets by status and correct the stored counters."

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        stored, counted = reconcile_inventory()
        wrong = [status for status in counted if stored[status] != counted[status]]
        for status, count in counted.items():
            correction = f" (corrected; was {stored[status]})" if status in wrong else ""
            self.stdout.write(f"{status}: {count}{correction}")
        if wrong:
            corrected = " ".join(changed(f"count of {status}", stored[status], counted[status]) for status in wrong)
            add_event_of_command(self, Event.Kind.CHANGED, "The counters are corrected.", message=corrected)
