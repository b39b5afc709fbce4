from importlib import import_module

from django.db import migrations

# SQLite knows no character that is newer than Unicode 6.1. It takes each of them for a letter, because those of newer
# scripts have to be letters, so a search for Rex did not find the pet 🦊Rex. These are the code points, assigned ones
# and others, of which this is true among those that separate words on PostgreSQL (0010_full_text_search.py and
# 0027_signs_before_forms.py), and enclosing marks, as in 1️⃣, which are no part of a word as other marks are.
_SIGNS = (
    "061c-061c 2065-2069 20ba-20cf 20dd-20e0 20e2-20e4 23f4-23ff 2427-243f 244b-245f 2700-2700 2776-2793 "
    "2b4d-2b4f 2b5a-2bff 2e2f-2e2f 2e3c-2e7f fe00-fe0f 1f02c-1f02f 1f094-1f09f 1f0af-1f0b0 1f0bf-1f0c0 "
    "1f0d0-1f0d0 1f0e0-1f10f 1f12f-1f12f 1f16c-1f16f 1f19b-1f1e5 1f203-1f20f 1f23b-1f23f 1f249-1f24f 1f252-1f2ff "
    "1f321-1f32f 1f336-1f336 1f37d-1f37f 1f394-1f39f 1f3c5-1f3c5 1f3cb-1f3df 1f3f1-1f3ff 1f43f-1f43f 1f441-1f441 "
    "1f4f8-1f4f8 1f4fd-1f4ff 1f53e-1f53f 1f544-1f54f 1f568-1f5fa 1f641-1f644 1f650-1f67f 1f6c6-1f6ff 1f774-1faff"
)
_former = import_module("pets.migrations.0025_shorter_search")


def _characters():
    for codes in _SIGNS.split():
        first, last = (int(code, 16) for code in codes.split("-"))
        yield from map(chr, range(first, last + 1))


def separate(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        for statement in _former.STATEMENTS:
            schema_editor.execute(statement.replace("\ufe0f", "".join(_characters())), params=None)


class Migration(migrations.Migration):
    """Signs and pictures that separate words in the search on SQLite."""

    dependencies = [("pets", "0025_shorter_search")]

    operations = [migrations.RunPython(separate, _former.shorten)]
