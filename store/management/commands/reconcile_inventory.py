from typing import Any

from petservice.db.commands import DatabaseCommand
from store.services import reconcile_inventory


class Command(DatabaseCommand):
    help = "Compare the kept counts of pets by status with full counts, and correct them where they differ."

    def handle(self, *args: Any, **options: Any) -> None:
        kept, counted = reconcile_inventory()
        for status, count in counted.items():
            correction = f" (corrected; the kept count was {kept[status]})" if kept[status] != count else ""
            self.stdout.write(f"{status}: {count}{correction}")
