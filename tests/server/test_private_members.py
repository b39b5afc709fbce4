"""Members of libraries that the service relies on although their documentation does not guarantee them.

These tests are the first to fail when a library is updated, and their messages name the missing member.
"""

import ast
import importlib
import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from gunicorn.config import Config

import petservice
from tests.server.private_members import DOCUMENTED, MEMBERS, OVERRIDING, OWN_CONSTRUCTORS

pytestmark = pytest.mark.once


def instances() -> dict[str, Callable[[], object]]:
    """Return functions that create instances of the classes that set members only in their constructors."""
    return {
        "gunicorn.config:Config": Config,
        "django.db.backends.base.schema:BaseDatabaseSchemaEditor": connection.schema_editor,
        "django.db.backends.base.base:BaseDatabaseWrapper": lambda: connection,
    }


def owner(path: str) -> Any:
    module, _, name = path.partition(":")
    found = importlib.import_module(module)
    return getattr(found, name) if name else found


@cache
def assigned_to_self(cls: type) -> set[str]:
    """Return the names of the attributes that the methods of a class and of its base classes assign."""
    assigned: set[str] = set()
    for one in cls.__mro__:
        with suppress(OSError, TypeError):  # the class is written in C
            assigned |= {
                node.attr
                for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(one))))
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own(node.value)
            }
    return assigned


@pytest.mark.parametrize(("path", "name"), [(path, name) for path, names in MEMBERS.items() for name in names])
def test_member_exists(path: str, name: str) -> None:
    found = owner(path)
    if path in instances():
        exists = hasattr(instances()[path](), name)
    else:
        # Some members are set only in the constructor.
        exists = hasattr(found, name) or (inspect.isclass(found) and name in assigned_to_self(found))
    assert exists, f"{path}.{name} is missing"


# Signatures.


def overridden() -> Iterator[tuple[type, str, Any]]:
    """Yield each method that overrides a method of a library, with the overridden method."""
    for cls in OVERRIDING:
        for name, member in vars(cls).items():
            if not inspect.isfunction(member) or (name == "__init__" and cls in OWN_CONSTRUCTORS):
                continue
            for base in cls.__mro__[1:]:
                theirs = vars(base).get(name)
                if not is_ours(base) and base is not object and inspect.isfunction(theirs):
                    yield cls, name, theirs
                    break


def is_ours(cls: type) -> bool:
    return cls.__module__.startswith("petservice.")


@pytest.mark.parametrize(
    ("cls", "name", "theirs"),
    [pytest.param(*one, id=f"{one[0].__module__}.{one[0].__name__}.{one[1]}") for one in overridden()],
)
def test_method_takes_the_parameters_of_the_overridden_method(cls: type, name: str, theirs: Any) -> None:
    ours = inspect.signature(vars(cls)[name]).parameters
    kinds = {parameter.kind for parameter in ours.values()}
    takes_any = inspect.Parameter.VAR_POSITIONAL in kinds or inspect.Parameter.VAR_KEYWORD in kinds
    their_parameters = inspect.signature(theirs).parameters
    for parameter in their_parameters.values():
        is_left_out = name == "__init__" and parameter.default is not parameter.empty
        is_taken = parameter.name in ours or takes_any or is_left_out or parameter.kind in (
            inspect.Parameter.VAR_POSITIONAL,
            inspect.Parameter.VAR_KEYWORD,
        )  # fmt: skip
        assert is_taken, f"{theirs.__qualname__} has a parameter {parameter.name}"
    for parameter in ours.values():
        if parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            assert parameter.name in their_parameters, f"{theirs.__qualname__} has no parameter {parameter.name}"


def test_overridden_methods_are_found() -> None:
    found = {f"{cls.__name__}.{name}" for cls, name, _ in overridden()}
    assert {"TimeLimitedConnection.wait", "EventLoopWorker.run"} <= found


# The list of members is complete.


def parsed(module: str) -> ast.Module:
    return ast.parse(Path(importlib.import_module(module).__file__ or "").read_text())


def source_of(cls: type) -> ast.ClassDef:
    classes = [node for node in ast.walk(parsed(cls.__module__)) if isinstance(node, ast.ClassDef)]
    return next(node for node in classes if node.name == cls.__name__)


def own_attributes(node: ast.AST) -> Iterator[ast.Attribute]:
    """Yield the private attributes of `self`, `cls` and `super()` in a part of the source."""
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and is_private(one.attr) and is_own(one.value):
            yield one


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def is_own(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "super"
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def defined(cls: type) -> set[str]:
    """Return the private names that a class of the service assigns itself."""
    node = source_of(cls)
    assigned = {one.attr for one in own_attributes(node) if isinstance(one.ctx, ast.Store)}
    return assigned | set(vars(cls))


def listed(cls: type) -> set[str]:
    """Return the listed members of a class and its base classes."""
    return {name for path, names in MEMBERS.items() if ":" in path and owner(path) in cls.__mro__ for name in names}


@pytest.mark.parametrize("cls", OVERRIDING, ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_private_members_that_a_class_inherits_are_in_the_list(cls: type) -> None:
    ours = [one for one in cls.__mro__ if is_ours(one)]
    theirs = [one for one in cls.__mro__ if not is_ours(one) and one is not object]
    node = source_of(cls)
    used = {one.attr for one in own_attributes(node)}
    of_the_library = {
        name
        for name in used | {name for name in vars(cls) if is_private(name)}
        if any(hasattr(one, name) for one in theirs) or any(name in assigned_to_self(one) for one in theirs)
    }
    undefined = used - set().union(*map(defined, ours))

    assert of_the_library | undefined <= listed(cls)


def test_all_private_members_of_other_objects_are_in_the_list() -> None:
    in_the_list = {name for names in MEMBERS.values() for name in names}
    folder = Path(petservice.__file__).parent
    used = {
        (str(file.relative_to(folder)), node.attr)
        for file in folder.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and is_private(node.attr) and not is_own(node.value)
    }
    assert {(file, name) for file, name in used if name not in in_the_list | DOCUMENTED} == set()


def test_all_classes_that_use_private_members_of_a_base_class_are_checked() -> None:
    known = {f"{cls.__module__}.{cls.__name__}" for cls in OVERRIDING}
    folder = Path(petservice.__file__).parent
    missed = set()
    for file in folder.rglob("*.py"):
        module = ".".join(("petservice", *file.relative_to(folder).with_suffix("").parts))
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.ClassDef) or not node.bases or f"{module}.{node.name}" in known:
                continue
            stored = {one.attr for one in own_attributes(node) if isinstance(one.ctx, ast.Store)}
            methods = {one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
            if {one.attr for one in own_attributes(node)} - stored - methods - DOCUMENTED:
                missed.add(f"{module}.{node.name}")
    assert missed == set()
