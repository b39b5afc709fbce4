# ruff: noqa: RUF001, S608  # Greek letters are meant, and the statements are made of texts of this file
from django.db import migrations

# The words of a pet's name and tag are in a full-text index that triggers write in the transaction of each writer.
# Both databases fold case and the accents of Latin letters; ß is ss, and the Greek final sigma is a sigma.

_SQLITE_TEXT = (
    """replace(replace(replace({row}.name || ' ' || ifnull({row}.tag, ''), 'ß', 'ss'), 'ẞ', 'ss'), 'ς', 'σ')"""
)
_SQLITE_ADD = f"INSERT INTO pets_search (rowid, words) VALUES (NEW.number, {_SQLITE_TEXT.format(row='NEW')});"
# The index has no copy of the texts, so it must be told what it had.
_SQLITE_REMOVE = f"""
    INSERT INTO pets_search (pets_search, rowid, words) VALUES ('delete', OLD.number, {_SQLITE_TEXT.format(row="OLD")});
"""
SQLITE_CREATE = [
    # Vowel signs and other marks (M) belong to words. U+FE0F only says how the sign before it looks.
    # A prefix of one letter has an index of its own, because many words begin with it.
    """
    CREATE VIRTUAL TABLE pets_search USING fts5 (
        words, content = '', columnsize = 0, prefix = 1,
        tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co M*' separators '\ufe0f'"
    )
    """,
    f"INSERT INTO pets_search (rowid, words) SELECT number, {_SQLITE_TEXT.format(row='pets_pet')} FROM pets_pet",
    f"CREATE TRIGGER pets_search_insert AFTER INSERT ON pets_pet BEGIN {_SQLITE_ADD} END",
    f"CREATE TRIGGER pets_search_delete AFTER DELETE ON pets_pet BEGIN {_SQLITE_REMOVE} END",
    f"""
    CREATE TRIGGER pets_search_update AFTER UPDATE OF name, tag ON pets_pet
    WHEN NEW.name <> OLD.name OR NEW.tag IS NOT OLD.tag BEGIN {_SQLITE_REMOVE} {_SQLITE_ADD} END
    """,
]
SQLITE_DROP = [
    *(f"DROP TRIGGER IF EXISTS pets_search_{event}" for event in ("insert", "delete", "update")),
    "DROP TABLE IF EXISTS pets_search",
]

# What separates words: everything in ASCII but letters and digits, punctuation, signs and pictures.
SEPARATORS = (
    r"\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7"
    r"\u02d8-\u02dd\u060c\u061b\u061f\u0964\u0965\u2000-\u206f\u20a0-\u20cf\u2190-\u245f\u2500-\u2bff\u2e00-\u2e7f"
    r"\u3000-\u3004\u3008-\u3020\u3030\u303d-\u303f\u30fb\ufe00-\ufe0f\U0001f000-\U0001faff"
)
POSTGRESQL_CREATE = [
    # An accent is separated from its Latin letter and removed; all other characters get their usual form again.
    # A word of 255 characters, which can grow by this, is cut to what an index accepts.
    rf"""
    CREATE FUNCTION pets_search_words(words text) RETURNS text[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
        SELECT coalesce(array_agg(left(word, 255)), '{{}}') FROM regexp_split_to_table(
            replace(replace(normalize(regexp_replace(
                lower(normalize(words, NFKD)), '([a-z])[\u0300-\u036f]+', '\1', 'g'
            ), NFKC), 'ß', 'ss'), 'ς', 'σ'), '[{SEPARATORS}]+'
        ) AS word WHERE word <> ''
    $$
    """,
    # A list calls this with a constant, so that PostgreSQL plans with the frequency of the words.
    """
    CREATE FUNCTION pets_search_query(words text) RETURNS tsquery
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path FROM CURRENT AS $$
        SELECT string_agg(quote_literal(word) || ':*', ' & ')::tsquery FROM unnest(pets_search_words(words)) AS word
    $$
    """,
    "ALTER TABLE pets_pet ADD COLUMN search tsvector",
    """
    CREATE FUNCTION pets_write_search() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    BEGIN
        NEW.search := array_to_tsvector(pets_search_words(concat_ws(' ', NEW.name, NEW.tag)));
        RETURN NEW;
    END $$
    """,
    """
    CREATE TRIGGER pets_search BEFORE INSERT OR UPDATE OF name, tag ON pets_pet
    FOR EACH ROW EXECUTE FUNCTION pets_write_search()
    """,
]
POSTGRESQL_DROP = [
    "DROP FUNCTION pets_write_search() CASCADE",  # with the trigger that calls it
    "ALTER TABLE pets_pet DROP COLUMN search",
    "DROP FUNCTION pets_search_query(text)",
    "DROP FUNCTION pets_search_words(text)",
]
# A table of words, which versions before the first release could have.
SQLITE_DROP_WORDS = [
    *(f"DROP TRIGGER IF EXISTS pets_search_{event}" for event in ("insert", "delete", "update")),
    "DROP TABLE IF EXISTS pets_searchterm",
    "DROP TABLE IF EXISTS pets_unindexedpet",
]
POSTGRESQL_DROP_WORDS = [
    "DROP FUNCTION IF EXISTS pets_record_unindexed() CASCADE",
    "DROP TABLE IF EXISTS pets_searchterm, pets_unindexedpet",
]


def execute(schema_editor, *, sqlite, postgresql):
    for statement in {"sqlite": sqlite, "postgresql": postgresql}[schema_editor.connection.vendor]:
        schema_editor.execute(statement, params=None)


def create(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.number_rows(apps.get_model("pets", "Pet"))  # by which its triggers know a pet
    execute(
        schema_editor,
        sqlite=SQLITE_DROP_WORDS + SQLITE_CREATE,
        postgresql=POSTGRESQL_DROP_WORDS + POSTGRESQL_CREATE,
    )


def drop(apps, schema_editor):
    execute(schema_editor, sqlite=SQLITE_DROP, postgresql=POSTGRESQL_DROP)


class Migration(migrations.Migration):
    """The full-text search. On PostgreSQL, the next migration adds the present pets, while others write."""

    dependencies = [("pets", "0009_saved_filter")]

    operations = [migrations.RunPython(create, drop)]
