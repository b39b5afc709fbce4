"""The pages of the admin that list, edit, import and export pets."""

from pets.admin import pages as pages  # Django imports this package to register its pages
from pets.admin import trash_pages as trash_pages
