"""The default of PETSERVICE_DATA_DIR."""

from pathlib import Path

from platformdirs import user_data_path

# The root of a clone, or site-packages.
_ROOT = Path(__file__).resolve().parent.parent.parent


def default_data_dir() -> Path:
    """Return `data` in a clone of the repository. Without a clone, return the platform's data directory of the user."""
    return _ROOT / "data" if (_ROOT / "manage.py").is_file() else user_data_path("petservice", appauthor=False)
