from importlib import import_module

from django.db import migrations, transaction

# What separates words for a search (pets/search/words.py): each character that is no letter, mark or digit. With one
# that a database keeps in its words, no search finds the pet by its own name, such as ฿uddy or №5.
#
# Those of PostgreSQL outside its former list. They separate words before characters get their usual form, because that
# of an acute accent that stands alone joins the next letters, and that of № is letters.
_POSTGRESQL_SIGNS = (
    "2c2-2c5 2d2-2d7 2de-2df 2e5-2eb 2ed-2ed 2ef-2ff 375-375 384-385 3f6-3f6 482-482 55a-55f 589-58a 58d-58f "
    "5be-5be 5c0-5c0 5c3-5c3 5c6-5c6 5f3-5f4 600-60b 60d-60f 61c-61e 66a-66d 6d4-6d4 6dd-6de 6e9-6e9 6fd-6fe "
    "700-70d 70f-70f 7f6-7f9 7fe-7ff 830-83e 85e-85e 888-888 890-891 8e2-8e2 970-970 9f2-9f3 9fa-9fb 9fd-9fd "
    "a76-a76 af0-af1 b70-b70 bf3-bfa c77-c77 c7f-c7f c84-c84 d4f-d4f d79-d79 df4-df4 e3f-e3f e4f-e4f e5a-e5b "
    "f01-f17 f1a-f1f f34-f34 f36-f36 f38-f38 f3a-f3d f85-f85 fbe-fc5 fc7-fcc fce-fda 104a-104f 109e-109f 10fb-10fb "
    "1360-1368 1390-1399 1400-1400 166d-166e 1680-1680 169b-169c 16eb-16ed 1735-1736 17d4-17d6 17d8-17db 1800-180a "
    "180e-180e 1940-1940 1944-1945 19de-19ff 1a1e-1a1f 1aa0-1aa6 1aa8-1aad 1b5a-1b6a 1b74-1b7e 1bfc-1bff 1c3b-1c3f "
    "1c7e-1c7f 1cc0-1cc7 1cd3-1cd3 1fbd-1fbd 1fbf-1fc1 1fcd-1fcf 1fdd-1fdf 1fed-1fee 1ffd-1ffe 20dd-20e0 20e2-20e4 "
    "2100-2101 2103-2106 2108-2109 2114-2114 2116-2118 211e-2123 2125-2125 2127-2127 2129-2129 212e-212e 213a-213b "
    "2141-2144 214a-214d 214f-214f 218a-218b 24b6-24e9 2ce5-2cea 2cf9-2cfc 2cfe-2cff 2d70-2d70 2e80-2e99 2e9b-2ef3 "
    "2f00-2fd5 2ff0-2ffb 3037-3037 309b-309c 30a0-30a0 3190-3191 3196-319f 31c0-31e3 3244-3247 3250-3250 3260-327f "
    "328a-32b0 32c0-33c1 33c3-33c6 33c8-33d7 33d9-33ff 4dc0-4dff a490-a4c6 a4fe-a4ff a60d-a60f a673-a673 a67e-a67e "
    "a6f2-a6f7 a700-a716 a720-a721 a789-a78a a828-a82b a836-a839 a874-a877 a8ce-a8cf a8f8-a8fa a8fc-a8fc a92e-a92f "
    "a95f-a95f a9c1-a9cd a9de-a9df aa5c-aa5f aa77-aa79 aade-aadf aaf0-aaf1 ab5b-ab5b ab6a-ab6b abeb-abeb fbb2-fbc2 "
    "fd3e-fd4f fdcf-fdcf fdfc-fdff fe45-fe46 fe49-fe4c feff-feff ffe3-ffe3 fff9-fffd 10100-10102 10137-1013f "
    "10179-10189 1018c-1018e 10190-1019c 101a0-101a0 101d0-101fc 1039f-1039f 103d0-103d0 1056f-1056f 10857-10857 "
    "10877-10878 1091f-1091f 1093f-1093f 10a50-10a58 10a7f-10a7f 10ac8-10ac8 10af0-10af6 10b39-10b3f 10b99-10b9c "
    "10ead-10ead 10f55-10f59 10f86-10f89 11047-1104d 110bb-110c1 110cd-110cd 11140-11143 11174-11175 111c5-111c8 "
    "111cd-111cd 111db-111db 111dd-111df 11238-1123d 112a9-112a9 1144b-1144f 1145a-1145b 1145d-1145d 114c6-114c6 "
    "115c1-115d7 11641-11643 11660-1166c 116b9-116b9 1173c-1173f 1183b-1183b 11944-11946 119e2-119e2 11a3f-11a46 "
    "11a9a-11a9c 11a9e-11aa2 11c41-11c45 11c70-11c71 11ef7-11ef8 11fd5-11ff1 11fff-11fff 12470-12474 12ff1-12ff2 "
    "13430-13438 16a6e-16a6f 16af5-16af5 16b37-16b3f 16b44-16b45 16e97-16e9a 16fe2-16fe2 1bc9c-1bc9c 1bc9f-1bca3 "
    "1cf50-1cfc3 1d000-1d0f5 1d100-1d126 1d129-1d164 1d16a-1d16c 1d173-1d17a 1d183-1d184 1d18c-1d1a9 1d1ae-1d1ea "
    "1d200-1d241 1d245-1d245 1d300-1d356 1d800-1d9ff 1da37-1da3a 1da6d-1da74 1da76-1da83 1da85-1da8b 1e14f-1e14f "
    "1e2ff-1e2ff 1e95e-1e95f 1ecac-1ecac 1ecb0-1ecb0 1ed2e-1ed2e 1eef0-1eef1 1fb00-1fb92 1fb94-1fbca e0000-e007f"
)
# SQLite knows no character that is newer than Unicode 6.1. It takes each of them for a letter, because those of newer
# scripts have to be letters. These are signs and pictures outside the other list, assigned and not, of which this is
# true.
_SQLITE_SIGNS = (
    "2065-2069 20ba-20cf 23f4-23ff 2427-243f 244b-245f 2700-2700 2776-2793 2b4d-2b4f 2b5a-2bff 2e2f-2e2f 2e3c-2e7f "
    "fe00-fe0f 1f02c-1f02f 1f094-1f09f 1f0af-1f0b0 1f0bf-1f0c0 1f0d0-1f0d0 1f0e0-1f10f 1f12f-1f12f 1f16c-1f16f "
    "1f19b-1f1e5 1f203-1f20f 1f23b-1f23f 1f249-1f24f 1f252-1f2ff 1f321-1f32f 1f336-1f336 1f37d-1f37f 1f394-1f39f "
    "1f3c5-1f3c5 1f3cb-1f3df 1f3f1-1f3ff 1f43f-1f43f 1f441-1f441 1f4f8-1f4f8 1f4fd-1f4ff 1f53e-1f53f 1f544-1f54f "
    "1f568-1f5fa 1f641-1f644 1f650-1f67f 1f6c6-1f6ff 1f774-1faff"
)
_on_postgresql = import_module("pets.migrations.0010_full_text_search")
_on_sqlite = import_module("pets.migrations.0025_shorter_search")

_FORMER = _on_postgresql.POSTGRESQL_CREATE[0].replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
# Number of pets that one transaction locks.
_BATCH = 2000
_FILL = """
    WITH batch AS (SELECT id FROM pets_pet WHERE id > %s ORDER BY id LIMIT %s FOR UPDATE), changed AS (
        UPDATE pets_pet SET search = array_to_tsvector(pets_search_words(concat_ws(' ', name, tag))) FROM batch
        WHERE pets_pet.id = batch.id
            AND search IS DISTINCT FROM array_to_tsvector(pets_search_words(concat_ws(' ', name, tag)))
    )
    SELECT id FROM batch ORDER BY id DESC LIMIT 1
"""


def _ranges(signs):
    """Return the first and the last character of each range."""
    return [[chr(int(code, 16)) for code in codes.split("-")] for codes in signs.split()]


def _with_signs():
    signs = _on_postgresql.SEPARATORS + "".join(map("-".join, _ranges(_POSTGRESQL_SIGNS)))
    return _FORMER.replace("normalize(words, NFKD)", f"normalize(regexp_replace(words, '[{signs}]+', ' ', 'g'), NFKD)")


def _replace(connection, function):
    """Replace the function of PostgreSQL, and then correct the pets that had other words."""
    with connection.cursor() as cursor:
        cursor.execute(function)
        # Writers that began with the former function end first, because their pets are not visible yet.
        with transaction.atomic(connection.alias):
            cursor.execute("SET LOCAL lock_timeout = '5s'")
            cursor.execute("LOCK TABLE pets_pet IN SHARE MODE")
        last = "00000000-0000-0000-0000-000000000000"
        while found := cursor.execute(_FILL, [last, _BATCH]).fetchone():
            (last,) = found


def _execute(schema_editor, statements):
    with transaction.atomic(schema_editor.connection.alias):
        for statement in statements:
            schema_editor.execute(statement, params=None)


def separate(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        _replace(schema_editor.connection, _with_signs())
        return
    ranges = _ranges(f"{_SQLITE_SIGNS} {_POSTGRESQL_SIGNS}")
    signs = {chr(code) for first, last in ranges for code in range(ord(first), ord(last) + 1)}
    # The last one first, because FTS5 looks for the place of each from the beginning of a sorted list.
    separators = "".join(sorted(signs, reverse=True))
    _execute(schema_editor, [statement.replace("\ufe0f", separators) for statement in _on_sqlite.STATEMENTS])


def join(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        _replace(schema_editor.connection, _FORMER)
    else:
        _execute(schema_editor, _on_sqlite.STATEMENTS)


class Migration(migrations.Migration):
    """All signs and pictures separate words in a search.

    It takes the place of the two migrations before it, whose lists were shorter. The former was changed after databases
    of unreleased versions had it, and the latter left out pets of a running import.
    """

    atomic = False  # so that those who write at the same time have the new function
    dependencies = [("pets", "0027_signs_before_forms")]

    operations = [migrations.RunPython(separate, join)]
