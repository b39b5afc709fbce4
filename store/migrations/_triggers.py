"""The triggers that update the counters of pets by status at each write to the table of pets.

Migration 0002 installs them. To change them, add a migration with the new statements, because existing databases would
not get an edit of these constants.
"""

from typing import Any

# SQLite has only row triggers and only one writer at a time, so one counter row per status is enough. A deletion does
# not create a missing counter row, because the tables may be emptied in any order.
_SQLITE_ADD = """INSERT INTO store_inventorycounter (status, count)
            SELECT NEW.status, 0
            WHERE NOT EXISTS (SELECT 1 FROM store_inventorycounter WHERE status = NEW.status);
        UPDATE store_inventorycounter SET count = count + 1 WHERE id =
            (SELECT min(id) FROM store_inventorycounter WHERE status = NEW.status);"""
_SQLITE_SUBTRACT = """UPDATE store_inventorycounter SET count = count - 1 WHERE id =
            (SELECT min(id) FROM store_inventorycounter WHERE status = OLD.status);"""
SQLITE_CREATE = [
    f"""
    CREATE TRIGGER store_count_insert AFTER INSERT ON pets_pet BEGIN
        {_SQLITE_ADD}
    END
    """,
    f"""
    CREATE TRIGGER store_count_delete AFTER DELETE ON pets_pet BEGIN
        {_SQLITE_SUBTRACT}
    END
    """,
    f"""
    CREATE TRIGGER store_count_update AFTER UPDATE OF status ON pets_pet WHEN NEW.status <> OLD.status BEGIN
        {_SQLITE_SUBTRACT}
        {_SQLITE_ADD}
    END
    """,
]
SQLITE_DROP = [f"DROP TRIGGER store_count_{event}" for event in ("insert", "delete", "update")]

# PostgreSQL runs a trigger once per statement, with the rows of the statement as a table. A bulk write therefore
# updates as few counters as a single write. Each writer updates any unlocked counter row of the status (SKIP LOCKED),
# and adds a row if all are locked. Writers therefore neither wait for each other nor deadlock.
# Migration 0005 replaces the first function by one that finds the row by an index.
POSTGRESQL_CREATE = [
    """
    CREATE FUNCTION store_add_to_counter(of_status varchar, change bigint) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    BEGIN
        IF change = 0 THEN
            RETURN;
        END IF;
        UPDATE store_inventorycounter SET count = count + change WHERE id =
            (SELECT id FROM store_inventorycounter WHERE status = of_status LIMIT 1 FOR UPDATE SKIP LOCKED);
        IF NOT FOUND THEN
            INSERT INTO store_inventorycounter (status, count) VALUES (of_status, change);
        END IF;
    END $$
    """,
    """
    CREATE FUNCTION store_count_pets() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    BEGIN
        IF TG_OP = 'INSERT' THEN
            PERFORM store_add_to_counter(status, count(*)) FROM new_pets GROUP BY status;
        ELSIF TG_OP = 'DELETE' THEN
            PERFORM store_add_to_counter(status, -count(*)) FROM old_pets GROUP BY status;
        ELSIF TG_OP = 'UPDATE' THEN
            PERFORM store_add_to_counter(status, sum(change)::bigint) FROM (
                SELECT status, 1 AS change FROM new_pets UNION ALL SELECT status, -1 FROM old_pets
            ) AS changes GROUP BY status;
        ELSE
            DELETE FROM store_inventorycounter;
        END IF;
        RETURN NULL;
    END $$
    """,
    *(
        f"""
        CREATE TRIGGER store_count_{event.lower()} AFTER {event} ON pets_pet {tables}
        FOR EACH STATEMENT EXECUTE FUNCTION store_count_pets()
        """
        for event, tables in {
            "INSERT": "REFERENCING NEW TABLE AS new_pets",
            "DELETE": "REFERENCING OLD TABLE AS old_pets",
            "UPDATE": "REFERENCING OLD TABLE AS old_pets NEW TABLE AS new_pets",
            "TRUNCATE": "",
        }.items()
    ),
]
POSTGRESQL_DROP = [
    "DROP FUNCTION store_count_pets() CASCADE",  # with the triggers that call it
    "DROP FUNCTION store_add_to_counter(varchar, bigint)",
]


def execute(schema_editor: Any, *, sqlite: list[str], postgresql: list[str]) -> None:
    """Run the statements for the type of the database that is migrated."""
    for statement in {"sqlite": sqlite, "postgresql": postgresql}[schema_editor.connection.vendor]:
        schema_editor.execute(statement, params=None)
