"""Print texts that tests/README.md advises against: `python -m tests.repository.prose`. No test refuses them."""

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.documents import ROOT
from tests.running.checkout import tracked

MAX_WORDS = 30
UNWANTED = re.compile(
    r"\b(mend(s|ed|ing)?|tells|told|anew|beside|save for|as ever|likewise|whoever|whatever|nobody|somebody|meanwhile"
    r"|stands? still|standing still|(is|are|was|were) away|it is well|by chance|at once|utils|helpers)\b",
    re.IGNORECASE,
)
FRAGMENT = re.compile(r"(Of|What|Whoever|That of|The same)\b.*[^?]$")
# Files that this project does not write by hand, or that must keep their words for good, and this one.
LEFT_OUT = re.compile(r"/migrations/|package-lock\.json|/deploy/requirements|changelog\.md|repository/prose\.py")
_MARKUP = re.compile(r"^```.*?^```$|<!--.*?-->|{%.*?%}|{{.*?}}|{#.*?#}|<script.*?</script>|</?[a-z][^>]*>", re.M | re.S)
_END_OF_SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[\"'`(A-Z])|\n\s*\n|\n\s*(?=(?:[-*#]|\d+\.) )|\|")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines and sentences of a document or page, or of the comments and strings of a module."""
    source = path.read_text()
    parts = [(1, source)]
    if path.suffix == ".py":
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        parts = [(one.start[0], one.string) for one in tokens if one.type in (tokenize.COMMENT, tokenize.STRING)]
    for line, text in parts:
        text = re.sub(
            r"`[^`\n]*`", "code", _MARKUP.sub(lambda match: "|" + "\n" * match[0].count("\n"), text.replace("**", ""))
        )
        for sentence in filter(None, _END_OF_SENTENCE.split(text)):
            yield line + text[: text.index(sentence)].count("\n"), " ".join(sentence.split()).strip("#\"' ")


def advice(sentence: str) -> str | None:
    """Return what is unusual in a sentence, or None."""
    if found := UNWANTED.search(sentence):
        return f"“{found[0]}”"
    if FRAGMENT.match(sentence):
        return "begins without its subject"
    return f"more than {MAX_WORDS} words" if len(sentence.split()) > MAX_WORDS else None


def main() -> int:
    names = [name for name in tracked() if name.endswith((".py", ".md", ".html")) and not LEFT_OUT.search(name)]
    for name in names:
        for line, sentence in texts(ROOT / name):
            if found := advice(sentence):
                print(f"{name}:{line}: {found}: {sentence}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
