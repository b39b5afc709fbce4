# ruff: noqa: RUF001, S608  # Greek letters are meant, and the statements are made of texts of this file
from django.db import migrations

# Beside the words, the search on SQLite has what three filters of the lists ask for: the status, the kind of the
# creator, and that there is no tag. Otherwise a search with a filter reads the row of each pet that the words find.

_WORDS = """replace(replace(replace({row}.name || ' ' || ifnull({row}.tag, ''), 'ß', 'ss'), 'ẞ', 'ss'), 'ς', 'σ')"""
_FILTERS = (
    "{row}.status || ' ' || ifnull(substr({row}.created_through, 1, 3), '') || iif({row}.tag IS NULL, ' untagged', '')"
)


def _values(row, *, with_filters):
    return _WORDS.format(row=row) + (f", {_FILTERS.format(row=row)}" if with_filters else "")


def _statements(*, with_filters):
    columns = "words, filters" if with_filters else "words"
    add = (
        f"INSERT INTO pets_search (rowid, {columns}) VALUES (NEW.number, {_values('NEW', with_filters=with_filters)});"
    )
    # The index has no copy of the texts, so it must be told what it had.
    remove = f"""
        INSERT INTO pets_search (pets_search, rowid, {columns})
        VALUES ('delete', OLD.number, {_values("OLD", with_filters=with_filters)});
    """
    sources = ["name", "tag", *(["status", "created_through"] if with_filters else [])]
    changed = " OR ".join(f"NEW.{source} IS NOT OLD.{source}" for source in sources)
    return [
        *(f"DROP TRIGGER pets_search_{event}" for event in ("insert", "delete", "update")),
        "DROP TABLE pets_search",
        f"""
        CREATE VIRTUAL TABLE pets_search USING fts5 (
            {columns}, content = '', columnsize = 0, prefix = 1,
            tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co M*' separators '\ufe0f'"
        )
        """,
        f"INSERT INTO pets_search (rowid, {columns}) "
        f"SELECT number, {_values('pets_pet', with_filters=with_filters)} FROM pets_pet",
        f"CREATE TRIGGER pets_search_insert AFTER INSERT ON pets_pet BEGIN {add} END",
        f"CREATE TRIGGER pets_search_delete AFTER DELETE ON pets_pet BEGIN {remove} END",
        f"""
        CREATE TRIGGER pets_search_update AFTER UPDATE OF {", ".join(sources)} ON pets_pet
        WHEN {changed} BEGIN {remove} {add} END
        """,
    ]


def add_filters(apps, schema_editor):
    _execute(schema_editor, _statements(with_filters=True))


def remove_filters(apps, schema_editor):
    _execute(schema_editor, _statements(with_filters=False))


def _execute(schema_editor, statements):
    if schema_editor.connection.vendor == "sqlite":
        for statement in statements:
            schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    """The values of filters in the full-text search of SQLite. On PostgreSQL, indexes are combined."""

    dependencies = [("pets", "0021_one_index_of_keys")]

    operations = [migrations.RunPython(add_filters, remove_filters)]
