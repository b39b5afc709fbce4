"""Read the code blocks of documents that tests run.

Such a block has a mark on the line above its fence: `<!-- tested: NAME -->`.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def block(document: str, name: str, *, root: Path = ROOT) -> str:
    """Return the content of the code block that is marked with this name.

    `document` is README.md or the name of a file in petservice/docs, and `root` the folder of the checkout.
    """
    path = root / document if document == "README.md" else root / "petservice" / "docs" / document
    mark = re.escape(f"<!-- tested: {name} -->")
    found: list[str] = re.findall(rf"^{mark}\n```\w*\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)
    if len(found) != 1:
        raise ValueError(f"{document} has {len(found)} code blocks with the mark {name!r} instead of one.")
    return found[0]
