"""What SQLite's planner knows of indexes, written down by migrations, so that its plans are the same everywhere.

It gathers such statistics only when asked, and as of that moment; without them it takes a column of three values for as
good a lead as a name. Format: https://www.sqlite.org/fileformat2.html#stat1tab
"""

from typing import Any

from django.db.migrations import RunPython


def statistics(table: str, indexes: dict[str, str]) -> RunPython:
    """The migration operation that tells, of indexes by their names, the number of rows and then how many have the same
    first value, the same first two, and so on; for example "1000000 300000 1". Does nothing on PostgreSQL.
    """

    def write(apps: Any, schema_editor: Any) -> None:
        if schema_editor.connection.vendor != "sqlite":
            return
        schema_editor.execute("ANALYZE sqlite_schema", params=None)  # makes the table
        forget(apps, schema_editor)  # what someone's own ANALYZE has found
        with schema_editor.connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (%s, %s, %s)",
                [(table, index, numbers) for index, numbers in indexes.items()],
            )
        schema_editor.execute("ANALYZE sqlite_schema", params=None)  # has this connection heed it, too

    def forget(apps: Any, schema_editor: Any) -> None:
        if schema_editor.connection.vendor == "sqlite":
            with schema_editor.connection.cursor() as cursor:
                cursor.executemany("DELETE FROM sqlite_stat1 WHERE idx = %s", [(index,) for index in indexes])

    return RunPython(write, forget)
