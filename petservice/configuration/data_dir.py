"""The default of PETSERVICE_DATA_DIR."""

from pathlib import Path

from platformdirs import user_data_path


def default_data_dir() -> Path:
    """Return `data` in a clone of the repository. Without a clone, return the platform's data directory of the user."""
    root = Path(__file__).resolve().parent.parent.parent  # site-packages without a clone
    return root / "data" if (root / "manage.py").is_file() else user_data_path("petservice", appauthor=False)
