from typing import Any

from django.core.management.base import BaseCommand

from store.services import reconcile_inventory


class Command(BaseCommand):
    help = "Compare the inventory's kept counts with a full count of the pets, and mend them where they differ."

    def handle(self, *args: Any, **options: Any) -> None:
        kept, counted = reconcile_inventory()
        for status, count in counted.items():
            mended = f" (mended; the kept count was {kept[status]})" if kept[status] != count else ""
            self.stdout.write(f"{status}: {count}{mended}")
