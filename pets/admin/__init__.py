"""The admin's pages of pets: finding, editing, importing and exporting."""

from pets.admin import pages as pages  # Django looks here for what to register
