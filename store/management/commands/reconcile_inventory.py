from typing import Any

from petservice.db.commands import DatabaseCommand
from store.services import reconcile_inventory


class Command(DatabaseCommand):
    help = "Compare the kept counts of pets, by status and by day, with full counts, and mend them where they differ."

    def handle(self, *args: Any, **options: Any) -> None:
        kept, counted, kept_days, counted_days = reconcile_inventory()
        for status, count in counted.items():
            self.stdout.write(f"{status}: {count}{_mended(kept[status], count)}")
        wrong = [day for day in kept_days | counted_days if kept_days.get(day) != counted_days.get(day)]
        for day in sorted(wrong):
            count = counted_days.get(day, 0)
            self.stdout.write(f"created on {day}: {count}{_mended(kept_days.get(day, 0), count)}")


def _mended(kept: int, counted: int) -> str:
    return f" (mended; the kept count was {kept})" if kept != counted else ""
