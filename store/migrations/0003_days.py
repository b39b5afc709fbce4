from django.db import migrations, models

from store.migrations import _triggers as triggers

# The same by the day on which a pet was created, in UTC. On SQLite a time is text that begins with its day.
SQLITE_CREATE_DAYS = [
    """
    CREATE TRIGGER store_days_insert AFTER INSERT ON pets_pet BEGIN
        INSERT INTO store_daycounter (day, count)
            SELECT substr(NEW.created_at, 1, 10), 0
            WHERE NOT EXISTS (SELECT 1 FROM store_daycounter WHERE day = substr(NEW.created_at, 1, 10));
        UPDATE store_daycounter SET count = count + 1 WHERE day = substr(NEW.created_at, 1, 10);
    END
    """,
    """
    CREATE TRIGGER store_days_delete AFTER DELETE ON pets_pet BEGIN
        UPDATE store_daycounter SET count = count - 1 WHERE day = substr(OLD.created_at, 1, 10);
    END
    """,
    """
    CREATE TRIGGER store_days_update AFTER UPDATE OF created_at ON pets_pet
    WHEN substr(NEW.created_at, 1, 10) <> substr(OLD.created_at, 1, 10) BEGIN
        UPDATE store_daycounter SET count = count - 1 WHERE day = substr(OLD.created_at, 1, 10);
        INSERT INTO store_daycounter (day, count)
            SELECT substr(NEW.created_at, 1, 10), 0
            WHERE NOT EXISTS (SELECT 1 FROM store_daycounter WHERE day = substr(NEW.created_at, 1, 10));
        UPDATE store_daycounter SET count = count + 1 WHERE day = substr(NEW.created_at, 1, 10);
    END
    """,
]
SQLITE_FILL_DAYS = [
    "INSERT INTO store_daycounter (day, count) SELECT substr(created_at, 1, 10), count(*) FROM pets_pet GROUP BY 1"
]
SQLITE_DROP_DAYS = [f"DROP TRIGGER store_days_{event}" for event in ("insert", "delete", "update")]

POSTGRESQL_CREATE_DAYS = [
    """
    CREATE FUNCTION store_add_to_day(of_day date, change bigint) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    BEGIN
        IF change = 0 THEN
            RETURN;
        END IF;
        UPDATE store_daycounter SET count = count + change WHERE id =
            (SELECT id FROM store_daycounter WHERE day = of_day LIMIT 1 FOR UPDATE SKIP LOCKED);
        IF NOT FOUND THEN
            INSERT INTO store_daycounter (day, count) VALUES (of_day, change);
        END IF;
    END $$
    """,
    """
    CREATE FUNCTION store_count_days() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    BEGIN
        IF TG_OP = 'INSERT' THEN
            PERFORM store_add_to_day((created_at AT TIME ZONE 'UTC')::date, count(*)) FROM new_pets
            GROUP BY (created_at AT TIME ZONE 'UTC')::date;
        ELSIF TG_OP = 'DELETE' THEN
            PERFORM store_add_to_day((created_at AT TIME ZONE 'UTC')::date, -count(*)) FROM old_pets
            GROUP BY (created_at AT TIME ZONE 'UTC')::date;
        ELSIF TG_OP = 'UPDATE' THEN
            PERFORM store_add_to_day((created_at AT TIME ZONE 'UTC')::date, sum(change)::bigint) FROM (
                SELECT created_at, 1 AS change FROM new_pets UNION ALL SELECT created_at, -1 FROM old_pets
            ) AS changes GROUP BY (created_at AT TIME ZONE 'UTC')::date;
        ELSE
            DELETE FROM store_daycounter;
        END IF;
        RETURN NULL;
    END $$
    """,
    """
    CREATE TRIGGER store_days_insert AFTER INSERT ON pets_pet
    REFERENCING NEW TABLE AS new_pets FOR EACH STATEMENT EXECUTE FUNCTION store_count_days()
    """,
    """
    CREATE TRIGGER store_days_delete AFTER DELETE ON pets_pet
    REFERENCING OLD TABLE AS old_pets FOR EACH STATEMENT EXECUTE FUNCTION store_count_days()
    """,
    """
    CREATE TRIGGER store_days_update AFTER UPDATE ON pets_pet
    REFERENCING OLD TABLE AS old_pets NEW TABLE AS new_pets FOR EACH STATEMENT EXECUTE FUNCTION store_count_days()
    """,
    """
    CREATE TRIGGER store_days_truncate AFTER TRUNCATE ON pets_pet
    FOR EACH STATEMENT EXECUTE FUNCTION store_count_days()
    """,
]
# After the triggers: they lock the table, so that no pet slips in between.
POSTGRESQL_FILL_DAYS = [
    "INSERT INTO store_daycounter (day, count)"
    " SELECT (created_at AT TIME ZONE 'UTC')::date, count(*) FROM pets_pet GROUP BY 1"
]
POSTGRESQL_DROP_DAYS = [
    *(f"DROP TRIGGER store_days_{event} ON pets_pet" for event in ("insert", "delete", "update", "truncate")),
    "DROP FUNCTION store_count_days()",
    "DROP FUNCTION store_add_to_day(date, bigint)",
]


def create(apps, schema_editor):
    triggers.execute(
        schema_editor,
        sqlite=SQLITE_CREATE_DAYS + SQLITE_FILL_DAYS,
        postgresql=POSTGRESQL_CREATE_DAYS + POSTGRESQL_FILL_DAYS,
    )


def drop(apps, schema_editor):
    triggers.execute(schema_editor, sqlite=SQLITE_DROP_DAYS, postgresql=POSTGRESQL_DROP_DAYS)


class Migration(migrations.Migration):
    dependencies = [("store", "0002_triggers"), ("pets", "0002_back_office")]

    operations = [
        migrations.CreateModel(
            name="DayCounter",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField(db_index=True)),
                ("count", models.BigIntegerField()),
            ],
        ),
        migrations.RunPython(create, drop),
    ]
