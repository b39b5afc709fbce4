# ruff: noqa: N803, N806  # models have the names of classes
import re
import sys

from django.db import migrations, models, transaction

# Number of pets that one transaction changes, so that other writers do not wait long.
BATCH = 1000
# What versions before the journal wrote about a change.
_STATUS = re.compile(r"Status changed from \w+ to (available|pending|sold)\.")
_SQLITE_INDEX = "CREATE INDEX pets_pet_sold ON pets_pet (sold_at, id)"
# As SQLite orders pets that are not sold.
_POSTGRESQL_INDEX = "CREATE INDEX CONCURRENTLY pets_pet_sold ON pets_pet (sold_at NULLS FIRST, id)"


def fill(apps, schema_editor):
    """Give sold pets the time of their sale, if the journal has it. No pet is locked while another batch is read."""
    Pet, Item = apps.get_model("pets", "Pet"), apps.get_model("journal", "Item")
    last, done, found = "00000000-0000-0000-0000-000000000000", 0, 0
    # All pets in the order of their ids, because SQLite would read and sort all sold ones again for each batch.
    pets = Pet.objects.order_by("pk").values_list("pk", "status", "sold_at")
    while rows := [*pets.filter(pk__gt=last)[:BATCH]]:
        ids = [pk for pk, status, sold_at in rows if status == "sold" and sold_at is None]
        with transaction.atomic():
            for pk, at in sale_times(Item, ids).items():
                found += Pet.objects.filter(pk=pk, status="sold", sold_at=None).update(sold_at=at)
        last, done = rows[-1][0], done + len(rows)
        if done % (50 * BATCH) == 0:
            print(f"  {done:,} pets were read, and the journal has the sales of {found:,} of them", file=sys.stderr)  # noqa: T201


def sale_times(Item, ids):
    """Return the times at which pets were last sold, by their ids, as far as the journal has them."""
    times = {}
    # Sorted here, because a database could walk all events in their order.
    items = Item.objects.filter(record_id__in=ids).select_related("event")
    for item in sorted(items, key=lambda item: (item.event.at, item.pk)):
        if item.before is None and item.event.kind in ("restored", "undone"):
            continue  # a sold pet that was put back was sold before
        text = item.message or (item.event.message if item.event.count == 1 else "")
        status = (item.after or {}).get("status") or ((found := _STATUS.search(text)) and found[1])
        if status == "sold":
            times.setdefault(item.record_id, item.event.at)
        elif status:
            times.pop(item.record_id, None)
    return times


def create_index(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP INDEX CONCURRENTLY IF EXISTS pets_pet_sold")  # what an interrupted attempt left
        schema_editor.execute(_POSTGRESQL_INDEX)
    else:
        schema_editor.execute("DROP INDEX IF EXISTS pets_pet_sold")
        schema_editor.execute(_SQLITE_INDEX)


def drop_index(apps, schema_editor):
    concurrently = "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""
    schema_editor.execute(f"DROP INDEX {concurrently} IF EXISTS pets_pet_sold")


class Migration(migrations.Migration):
    """The sales that the journal has, in transactions that let other writers in between, and the index of all sales."""

    atomic = False
    dependencies = [("pets", "0016_sold_at"), ("journal", "0002_carry_over")]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(create_index, drop_index)],
            state_operations=[migrations.AddIndex("pet", models.Index(fields=["sold_at", "id"], name="pets_pet_sold"))],
        ),
    ]
