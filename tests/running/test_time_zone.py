"""The names of time zones that the service accepts."""

import zoneinfo

import pytest

from petservice.configuration.time_zone import StoreZone, zone

pytestmark = pytest.mark.once


def test_zones_are_known_without_files_of_the_system() -> None:
    zoneinfo.reset_tzpath(to=())
    try:
        StoreZone.clear_cache()
        assert zone("Pacific/Auckland").key == "Pacific/Auckland"
    finally:
        zoneinfo.reset_tzpath()


@pytest.mark.parametrize("name", ["Berlin", "Europe", "../UTC", "/etc/localtime", "a\0b", "\ud800"])
def test_only_names_of_zones_are_accepted(name: str) -> None:
    with pytest.raises(ValueError, match="there is no time zone"):
        zone(name)
