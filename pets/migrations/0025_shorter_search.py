# ruff: noqa: RUF001, S608  # Greek letters are meant, and the statements are made of texts of this file
from importlib import import_module

from django.db import migrations

# The search on SQLite without the positions of words in a text, which no search asks for and which took two thirds of
# the index. In their place, one list has all pets whose words have the same first one to eight letters. Without these
# lists, FTS5 would take three times as long as with positions to put together those of a frequent word. Without
# positions it has no condition for a column. So each value of a filter begins with a character for private use, for
# which words have a space.

_former = import_module("pets.migrations.0022_filters_in_search")

_WORDS = """replace(replace(replace(replace({row}.name || ' ' || ifnull({row}.tag, ''),
    '\ue000', ' '), 'ß', 'ss'), 'ẞ', 'ss'), 'ς', 'σ')"""
_FILTERS = """' \ue000' || {row}.status || ifnull(' \ue000' || substr({row}.created_through, 1, 3), '')
    || iif({row}.tag IS NULL, ' \ue000untagged', '')"""
_VALUES = f"{_WORDS} || {_FILTERS}"
_SOURCES = "name", "tag", "status", "created_through"
_ADD = f"INSERT INTO pets_search (rowid, words) VALUES (NEW.number, {_VALUES.format(row='NEW')});"
# The index has no copy of the texts, so it must be told what it had.
_REMOVE = f"""
    INSERT INTO pets_search (pets_search, rowid, words) VALUES ('delete', OLD.number, {_VALUES.format(row="OLD")});
"""
STATEMENTS = [
    *(f"DROP TRIGGER pets_search_{event}" for event in ("insert", "delete", "update")),
    "DROP TABLE pets_search",
    """
    CREATE VIRTUAL TABLE pets_search USING fts5 (
        words, content = '', columnsize = 0, detail = none, prefix = '1 2 3 4 5 6 7 8',
        tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co M*' separators '\ufe0f'"
    )
    """,
    f"INSERT INTO pets_search (rowid, words) SELECT number, {_VALUES.format(row='pets_pet')} FROM pets_pet",
    f"CREATE TRIGGER pets_search_insert AFTER INSERT ON pets_pet BEGIN {_ADD} END",
    f"CREATE TRIGGER pets_search_delete AFTER DELETE ON pets_pet BEGIN {_REMOVE} END",
    f"""
    CREATE TRIGGER pets_search_update AFTER UPDATE OF {", ".join(_SOURCES)} ON pets_pet
    WHEN {" OR ".join(f"NEW.{source} IS NOT OLD.{source}" for source in _SOURCES)} BEGIN {_REMOVE} {_ADD} END
    """,
]


def shorten(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        for statement in STATEMENTS:
            schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    """A full-text search on SQLite that takes less space."""

    dependencies = [("pets", "0024_default_of_version")]

    operations = [migrations.RunPython(shorten, _former.add_filters)]
