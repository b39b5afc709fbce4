from django.db import migrations, models

# Not by Django, which would copy all pets on SQLite.
_ADD = ["ALTER TABLE pets_pet ADD COLUMN version integer DEFAULT 1 NOT NULL"]
_REMOVE = ["ALTER TABLE pets_pet DROP COLUMN version"]
# Every update raises the version, whoever makes it. A program that writes an old version back raises the present one.
_SQLITE_CREATE = [
    # Its own update raises the version, and so does not run it again.
    """
    CREATE TRIGGER pets_version AFTER UPDATE ON pets_pet WHEN NEW.version <= OLD.version BEGIN
        UPDATE pets_pet SET version = OLD.version + 1 WHERE id = NEW.id;
    END
    """,
]
_SQLITE_DROP = ["DROP TRIGGER pets_version"]
_POSTGRESQL_CREATE = [
    """
    CREATE FUNCTION pets_raise_version() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        NEW.version := OLD.version + 1;
        RETURN NEW;
    END $$
    """,
    """
    CREATE TRIGGER pets_version BEFORE UPDATE ON pets_pet
    FOR EACH ROW EXECUTE FUNCTION pets_raise_version()
    """,
]
_POSTGRESQL_DROP = ["DROP FUNCTION pets_raise_version() CASCADE"]  # with the trigger that calls it


def _execute(schema_editor, *, sqlite, postgresql):
    for statement in {"sqlite": sqlite, "postgresql": postgresql}[schema_editor.connection.vendor]:
        schema_editor.execute(statement, params=None)


def create(apps, schema_editor):
    _execute(schema_editor, sqlite=_ADD + _SQLITE_CREATE, postgresql=_ADD + _POSTGRESQL_CREATE)


def drop(apps, schema_editor):
    _execute(schema_editor, sqlite=_SQLITE_DROP + _REMOVE, postgresql=_POSTGRESQL_DROP + _REMOVE)


class Migration(migrations.Migration):
    """A number of each pet that every change raises, so that the admin notices what others changed."""

    dependencies = [("pets", "0013_journal")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(create, drop)],
            state_operations=[migrations.AddField("pet", "version", models.IntegerField(db_default=1, editable=False))],
        )
    ]
