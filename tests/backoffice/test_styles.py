"""The badges of the design. The browser tests check the contrast of all colours with axe, in both themes."""

import re
from pathlib import Path

import pytest

from pets.models import Pet

BADGES = Path(__file__).parents[2] / "petservice" / "static" / "petservice" / "badges.css"
STATES = {"active", "soon", "expired", "revoked", "replaced", "other", "invited", "locked", "deactivated"}

pytestmark = pytest.mark.once


def test_every_status_has_a_badge_and_no_two_of_a_kind_have_the_same_shape() -> None:
    rules = re.findall(r"^([^{}@/]+)\{([^}]*)\}", BADGES.read_text(), re.MULTILINE)
    shapes = {
        name: shape for selector, shape in rules for name in re.findall(r"badge-([a-z]+)", selector) if "::" in selector
    }
    named = {name for selector, _ in rules for name in re.findall(r"badge-([a-z]+)", selector)}

    assert {*Pet.Status.values, *STATES} - named == set()
    for kind in (
        Pet.Status.values,
        STATES - {"invited", "locked", "deactivated"},
        {"active", "invited", "locked", "deactivated"},
    ):
        assert len({shapes.get(name, "disc") for name in kind}) == len(kind)
