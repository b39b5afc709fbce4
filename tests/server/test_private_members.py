"""Members of libraries that the service relies on although their documentation does not guarantee them.

These tests are the first to fail when a library is updated, and their messages name the missing member.
"""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import petservice
from tests.server.private_members import DOCUMENTED, MEMBERS

pytestmark = pytest.mark.once


@pytest.mark.parametrize("path", MEMBERS)
def test_members_exist(path: str) -> None:
    module, _, name = path.partition(":")
    owner: Any = importlib.import_module(module)
    owner = getattr(owner, name) if name else owner

    assert [member for member in MEMBERS[path] if not hasattr(owner, member) and not is_assigned(owner, member)] == []


def is_assigned(owner: type, member: str) -> bool:
    """Return whether a constructor sets a member that the class itself does not have."""
    sources = [inspect.getsource(cls) for cls in owner.__mro__[:-1]]
    return any(re.search(rf"\bself\.{member}(: [^=]+)? = ", source) for source in sources)


def test_all_private_members_are_in_the_list() -> None:
    listed = DOCUMENTED.union(*MEMBERS.values())
    folder = Path(petservice.__file__).parent
    found = {
        (str(file.relative_to(folder)), name)
        for file in folder.rglob("*.py")
        for name in private_members(ast.parse(file.read_text()))
    }
    assert {(file, name) for file, name in found if name not in listed} == set()


def private_members(module: ast.Module) -> Iterator[str]:
    """Yield the private attributes of objects other than `self`, and those of `self` that its class does not define."""
    of_self: set[ast.AST] = set()
    for cls in ast.walk(module):
        if isinstance(cls, ast.ClassDef):
            own = [node for node in ast.walk(cls) if isinstance(node, ast.Attribute) and is_self(node.value)]
            of_self |= {*own}
            defined = {node.attr for node in own if isinstance(node.ctx, ast.Store)}
            defined |= {node.name for node in cls.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
            yield from (node.attr for node in own if is_private(node.attr) and node.attr not in defined)
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node not in of_self:
            yield node.attr


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")
