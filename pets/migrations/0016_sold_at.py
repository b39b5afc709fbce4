# ruff: noqa: S608  # the statements are made of texts of this file
from django.db import migrations

import pets.fields

# Not by Django, which would copy all pets on SQLite.
_ADD = "ALTER TABLE pets_pet ADD COLUMN sold_at {type} NULL"
_REMOVE = "ALTER TABLE pets_pet DROP COLUMN sold_at"
# The time in the form in which Django stores times.
_SQLITE_NOW = "strftime('%Y-%m-%d %H:%M:%f', 'now') || '000'"
_SQLITE_CREATE = [
    _ADD.format(type="datetime"),
    # Its update raises the version, so that the trigger of updates does not write the row once more.
    f"""
    CREATE TRIGGER pets_sold_insert AFTER INSERT ON pets_pet WHEN (NEW.status = 'sold') = (NEW.sold_at IS NULL) BEGIN
        UPDATE pets_pet SET version = version + 1, sold_at = CASE NEW.status WHEN 'sold' THEN {_SQLITE_NOW} END
        WHERE id = NEW.id;
    END
    """,
    "DROP TRIGGER pets_version",
    # One update writes both. It changes no status and raises the version, and so does not run the trigger again.
    f"""
    CREATE TRIGGER pets_version AFTER UPDATE ON pets_pet
    WHEN NEW.version <= OLD.version OR NEW.status <> OLD.status OR (NEW.status <> 'sold' AND NEW.sold_at IS NOT NULL)
    BEGIN
        UPDATE pets_pet SET
            version = max(NEW.version, OLD.version + 1),
            sold_at = CASE
                WHEN NEW.status <> 'sold' THEN NULL
                WHEN OLD.status <> 'sold' THEN ifnull(NEW.sold_at, {_SQLITE_NOW})
                ELSE NEW.sold_at
            END
        WHERE id = NEW.id;
    END
    """,
]
_SQLITE_DROP = [
    "DROP TRIGGER pets_sold_insert",
    "DROP TRIGGER pets_version",
    """
    CREATE TRIGGER pets_version AFTER UPDATE ON pets_pet WHEN NEW.version <= OLD.version BEGIN
        UPDATE pets_pet SET version = OLD.version + 1 WHERE id = NEW.id;
    END
    """,
    _REMOVE,
]
_POSTGRESQL_CREATE = [
    _ADD.format(type="timestamp with time zone"),
    """
    CREATE FUNCTION pets_write_sold_at() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        NEW.sold_at := CASE NEW.status WHEN 'sold' THEN statement_timestamp() END;
        RETURN NEW;
    END $$
    """,
    # The conditions leave the function out for almost all writes.
    """
    CREATE TRIGGER pets_sold_insert BEFORE INSERT ON pets_pet
    FOR EACH ROW WHEN ((NEW.status = 'sold') = (NEW.sold_at IS NULL)) EXECUTE FUNCTION pets_write_sold_at()
    """,
    """
    CREATE TRIGGER pets_sold_update BEFORE UPDATE ON pets_pet
    FOR EACH ROW WHEN (
        CASE NEW.status WHEN 'sold' THEN OLD.status <> 'sold' AND NEW.sold_at IS NULL ELSE NEW.sold_at IS NOT NULL END
    ) EXECUTE FUNCTION pets_write_sold_at()
    """,
]
_POSTGRESQL_DROP = ["DROP FUNCTION pets_write_sold_at() CASCADE", _REMOVE]  # with the triggers that call it


def _execute(schema_editor, *, sqlite, postgresql):
    for statement in {"sqlite": sqlite, "postgresql": postgresql}[schema_editor.connection.vendor]:
        schema_editor.execute(statement, params=None)


def create(apps, schema_editor):
    _execute(schema_editor, sqlite=_SQLITE_CREATE, postgresql=_POSTGRESQL_CREATE)


def drop(apps, schema_editor):
    _execute(schema_editor, sqlite=_SQLITE_DROP, postgresql=_POSTGRESQL_DROP)


class Migration(migrations.Migration):
    """The time of the sale of each sold pet, which triggers write, whoever sells the pet or takes it back.

    A writer may give the time of a sale itself, when it inserts a sold pet or sells one, and may correct it later.
    """

    dependencies = [("pets", "0015_numbers")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(create, drop)],
            state_operations=[
                migrations.AddField(
                    "pet", "sold_at", pets.fields.SoldAtField(db_default=None, editable=False, null=True)
                )
            ],
        )
    ]
