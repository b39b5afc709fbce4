"""The colours of the design, checked for contrast (WCAG 2.2) in the light and the dark theme."""

import re
from pathlib import Path

import pytest

from pets.models import Pet

STATIC = Path(__file__).parents[2] / "petservice" / "static" / "petservice"
# Texts and the backgrounds on which they stand.
TEXTS = [
    *((f"on-{tone}", tone) for tone in ("good", "warning", "bad", "neutral", "quiet", "accent", "danger")),
    *((text, surface) for text in ("text", "muted", "accent") for surface in ("page", "surface", "sunken")),
    *(("text", tone) for tone in ("good", "warning", "bad")),
    *(("danger-text", surface) for surface in ("page", "surface")),
]
OUTLINES = [("line-strong", "page"), ("line-strong", "surface"), ("accent", "surface")]
STATES = {"active", "soon", "expired", "revoked", "replaced", "other", "invited", "locked", "deactivated"}

pytestmark = pytest.mark.once


def colours(theme: int) -> dict[str, str]:
    """Return the colours of the tokens in the light theme (0) or the dark one (1)."""
    tokens = re.findall(r"^  --([a-z-]+): (?:light-dark\((#\w{6}), (#\w{6})\)|(#\w{6}));", css("tokens"), re.MULTILINE)
    return {name: both or (light, dark)[theme] for name, light, dark, both in tokens}


def css(name: str) -> str:
    return (STATIC / f"{name}.css").read_text()


def luminance(colour: str) -> float:
    channels = [channel / 255 for channel in bytes.fromhex(colour.removeprefix("#"))]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(colour: str, other: str) -> float:
    lesser, greater = sorted((luminance(colour), luminance(other)))
    return (greater + 0.05) / (lesser + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("pairs", "least"), [(TEXTS, 4.5), (OUTLINES, 3)], ids=["texts", "outlines"])
def test_colours_have_enough_contrast(theme: int, pairs: list[tuple[str, str]], least: float) -> None:
    tokens = colours(theme)

    found = {pair: round(contrast(tokens[pair[0]], tokens[pair[1]]), 2) for pair in pairs}

    assert {pair: ratio for pair, ratio in found.items() if ratio < least} == {}


def test_every_status_has_a_badge_and_no_two_of_a_kind_have_the_same_shape() -> None:
    rules = re.findall(r"^([^{}@/]+)\{([^}]*)\}", css("badges"), re.MULTILINE)
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
