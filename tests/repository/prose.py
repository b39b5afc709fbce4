"""The sentences and names of the repository: documents, docstrings, comments, messages and pages."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.documents import ROOT
from tests.running.checkout import tracked

# Files that this project does not write by hand, or that must keep their words for good.
GENERATED = re.compile(r"/migrations/|package-lock\.json|openapi\.json|published\.json|/deploy/requirements")
_END_OF_SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[\"'`(A-Z])")
_MARKUP = re.compile(r"{%.*?%}|{{.*?}}|{#.*?#}|<script.*?</script>|<style.*?</style>|<[^>]*>", re.DOTALL)


class Text(NamedTuple):
    """A piece of prose: a paragraph, a docstring, a comment, a message, or the text of a page."""

    kind: str
    path: str
    line: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"

    @property
    def sentences(self) -> list[str]:
        """The sentences of the text, each on one line."""
        paragraphs = re.split(r"\n\s*\n|\n\s*(?=[-*] )", self.text)
        plain = (" ".join(paragraph.split()) for paragraph in paragraphs)
        return [sentence for paragraph in plain for sentence in _END_OF_SENTENCE.split(paragraph) if sentence]


def files(*endings: str) -> list[Path]:
    """Return the files of the repository with these endings, those that git does not ignore."""
    paths = (ROOT / name for name in tracked())
    return [path for path in paths if path.name.endswith(endings) and not GENERATED.search(str(path))]


def texts() -> list[Text]:
    """Return all prose of the repository."""
    found: list[Text] = []
    for path in files(".py"):
        found += _of_python(path)
    for path in files(".md"):
        found += markdown(path)
    for path in files(".html"):
        page = _MARKUP.sub(lambda match: "\n" * match[0].count("\n") or " ", path.read_text())
        found += [
            Text("page", _name(path), number, line) for number, line in enumerate(page.splitlines(), 1) if line.strip()
        ]
    return found


def names() -> Iterator[tuple[str, str]]:
    """Yield each name that the code defines, and its place: files, classes, functions, parameters and variables."""
    for path in files(".py"):
        name = _name(path)
        yield path.stem, name
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.name, f"{name}:{node.lineno}"
            elif isinstance(node, ast.arg):
                yield node.arg, f"{name}:{node.lineno}"
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id, f"{name}:{node.lineno}"
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                yield node.attr, f"{name}:{node.lineno}"


def markdown(path: Path) -> list[Text]:
    """Return the paragraphs, list items and table cells of a Markdown file, without code and headings."""
    found, paragraph, start = [], [], 1
    for number, line in enumerate([*without_code(path).splitlines(), ""], 1):
        if line.startswith("|"):
            found += [Text("document", _name(path), number, _plain(cell)) for cell in line.split("|")]
        is_prose = bool(line.strip()) and not line.lstrip().startswith(("|", "#"))
        begins = re.match(r"\s*([-*]|\d+\.) ", line) is not None
        if paragraph and (begins or not is_prose):
            found.append(Text("document", _name(path), start, _plain(" ".join(paragraph))))
            paragraph = []
        if is_prose:
            start = start if paragraph else number
            paragraph.append(re.sub(r"^\s*([-*]|\d+\.) ", "", line).strip())
    return found


def without_code(path: Path) -> str:
    """Return a Markdown file without its code blocks and comments, but with all ends of lines."""
    blocks = re.compile(r"^```.*?^```$|<!--.*?-->", re.MULTILINE | re.DOTALL)
    return blocks.sub(lambda match: "\n" * match[0].count("\n"), path.read_text())


def _plain(text: str) -> str:
    text = re.sub(r"`[^`]*`", "`code`", text)
    return re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text).replace("**", "")


def _of_python(path: Path) -> Iterator[Text]:
    source, name = path.read_text(), _name(path)
    docstrings = set()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            documented = ast.get_docstring(node)
            if documented:
                docstrings.add(node.body[0].lineno)
                yield Text("docstring", name, node.body[0].lineno, documented)
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        if is_text and node.lineno not in docstrings:
            yield Text("message", name, node.lineno, node.value)
    yield from _comments(source, name)


def _comments(source: str, name: str) -> Iterator[Text]:
    lines: list[str] = []
    first = last = 0
    is_trailing = False
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or token.string.startswith(("# noqa", "# type:", "# isort", "#!")):
            continue
        if lines and (token.start[0] != last + 1 or token.line.strip() != token.string or is_trailing):
            yield Text("comment", name, first, "\n".join(lines))
            lines = []
        is_trailing = token.line.strip() != token.string
        first = first if lines else token.start[0]
        last = token.start[0]
        lines.append(token.string.removeprefix("#").removeprefix(" "))
    if lines:
        yield Text("comment", name, first, "\n".join(lines))


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
