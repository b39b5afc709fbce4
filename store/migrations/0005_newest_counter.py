from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

from store.migrations import _triggers as triggers

_NAME = "store_inventorycounter_newest"
# Each update leaves a dead row, and one that another transaction may still see cannot be removed. An index lists equal
# keys in the order of their places, and a new version usually has the last place, so the search begins at the end. The
# update finds the row by its place, because it would search from the beginning. PostgreSQL itself would rather read the
# whole table, whose usual size is one block.
_POSTGRESQL_CREATE = [
    """
    CREATE OR REPLACE FUNCTION store_add_to_counter(of_status varchar, change bigint) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off AS $$
    DECLARE
        place tid;
    BEGIN
        IF change = 0 THEN
            RETURN;
        END IF;
        SELECT ctid INTO place FROM store_inventorycounter WHERE status = of_status
            ORDER BY id DESC LIMIT 1 FOR UPDATE SKIP LOCKED;
        UPDATE store_inventorycounter SET count = count + change WHERE ctid = place;
        IF NOT FOUND THEN
            INSERT INTO store_inventorycounter (status, count) VALUES (of_status, change);
        END IF;
    END $$
    """
]
_POSTGRESQL_DROP = [triggers.POSTGRESQL_CREATE[0].replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")]


def create(apps, schema_editor):
    triggers.execute(schema_editor, sqlite=[], postgresql=_POSTGRESQL_CREATE)


def drop(apps, schema_editor):
    triggers.execute(schema_editor, sqlite=[], postgresql=_POSTGRESQL_DROP)


class Migration(migrations.Migration):
    """The search for a counter from its newest version, so that creating a pet costs the same during a long backup."""

    atomic = False
    dependencies = [("store", "0004_no_days")]

    operations = [
        AddIndexConcurrently("inventorycounter", models.Index(fields=["status", "id"], name=_NAME)),
        migrations.RunPython(create, drop),
    ]
