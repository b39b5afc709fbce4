"""Members of libraries that the service relies on although their documentation does not guarantee them.

These tests are the first to fail when a library is updated, and their messages name the missing member. Ruff refuses
others whose names begin with an underscore (SLF001).
"""

import importlib
import inspect
import re
from typing import Any

import pytest

from tests.server.private_members import MEMBERS

pytestmark = pytest.mark.once


@pytest.mark.parametrize("path", MEMBERS)
def test_members_exist(path: str) -> None:
    module, _, name = path.partition(":")
    owner: Any = importlib.import_module(module)
    owner = getattr(owner, name) if name else owner

    assert [member for member in MEMBERS[path] if not hasattr(owner, member) and not is_assigned(owner, member)] == []


def is_assigned(owner: type, member: str) -> bool:
    """Return whether the modules of a class set a member that the class itself does not have."""
    sources = [inspect.getsource(importlib.import_module(cls.__module__)) for cls in owner.__mro__[:-1]]
    return any(re.search(rf"\bself\.{member}(: [^=]+)? = ", source) for source in sources)
