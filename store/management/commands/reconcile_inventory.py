from typing import Any

from petservice.db.pending_migrations import DatabaseCommand
from store.services import reconcile_inventory


class Command(DatabaseCommand):
    help = "Recount pets by status and correct the stored counters."

    def handle(self, *args: Any, **options: Any) -> None:
        stored, counted = reconcile_inventory()
        for status, count in counted.items():
            correction = f" (corrected; was {stored[status]})" if stored[status] != count else ""
            self.stdout.write(f"{status}: {count}{correction}")
