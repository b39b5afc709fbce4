"""The operator LIKE of SQLite for texts of any script: SQLite's own knows the case of ASCII letters only."""

import re
import unicodedata
from functools import lru_cache


def like(pattern: object, value: object, escape: object) -> bool | None:
    """Return whether a value is like a pattern, in any case, in which `escape` precedes a literal character."""
    if pattern is None or value is None:
        return None
    return _compiled(str(pattern), str(escape)).fullmatch(_folded(str(value))) is not None


@lru_cache(maxsize=100)
def _compiled(pattern: str, escape: str) -> re.Pattern[str]:
    parts = re.findall(rf"{re.escape(escape)}.|[%_]|[^%_{re.escape(escape)}]+", pattern, re.DOTALL)
    wildcards = {"%": ".*", "_": "."}
    texts = (wildcards.get(part) or re.escape(_folded(part.removeprefix(escape))) for part in parts)
    return re.compile("".join(texts), re.DOTALL)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
