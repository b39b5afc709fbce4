from importlib import import_module

from django.db import migrations

# PostgreSQL gave characters their usual form before signs separated words. The usual form of an acute accent that
# stands alone is a blank and an accent, which joined the next letters, and that of № is letters. So no search found a
# pet whose name has such an accent in place of an apostrophe, or №5. Now signs separate words first. These are the
# signs outside the former ones: enclosing marks, as in 1️⃣, signs that are like letters, invisible characters, and
# those of flags.
_SIGNS = (
    r"\u061c\u20dd-\u20e0\u20e2-\u20e4\u2100\u2101\u2103-\u2106\u2108\u2109\u2114\u2116\u2117\u211e-\u2123\ufeff"
    r"\U000e0000-\U000e007f"
)
_former = import_module("pets.migrations.0010_full_text_search")
_FORMER = _former.POSTGRESQL_CREATE[0].replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
_SEPARATED = f"regexp_replace(words, '[{_former.SEPARATORS}{_SIGNS}]+', ' ', 'g')"
_NEW = _FORMER.replace("normalize(words, NFKD)", f"normalize({_SEPARATED}, NFKD)")
_FILL = """
    UPDATE pets_pet SET search = array_to_tsvector(pets_search_words(concat_ws(' ', name, tag)))
    WHERE search IS DISTINCT FROM array_to_tsvector(pets_search_words(concat_ws(' ', name, tag)))
"""


def _replace(function):
    """Return a function that replaces that of PostgreSQL, and then corrects the few pets that had other words."""

    def replace(apps, schema_editor):
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(function, params=None)
            schema_editor.execute(_FILL, params=None)

    return replace


class Migration(migrations.Migration):
    """Signs that separate words in the search on PostgreSQL before characters get their usual form."""

    atomic = False  # so that those who write at the same time have the new function
    dependencies = [("pets", "0026_signs_in_search")]

    operations = [migrations.RunPython(_replace(_NEW), _replace(_FORMER))]
