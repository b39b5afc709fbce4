"""The command line of the service: `petservice`, `python -m petservice` and `manage.py` all run `main`."""

import os
import sys

from petservice import __version__


def main() -> None:
    """Run the management command that the arguments name."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petservice.settings")
    try:
        from django.core.management import execute_from_command_line

        from petservice.db.waiting import unlimited
    except ImportError:
        sys.exit("Django is not installed here: run `pip install -e .` in this virtual environment first.")
    program, *arguments = sys.argv
    if arguments == ["--version"]:  # Django would print its own
        sys.stdout.write(f"petservice {__version__}\n")
        return
    unlimited.set(True)  # management commands have no statement timeout; `serve` resets this for its requests
    # Django takes the name of this file for its own.
    execute_from_command_line(["petservice" if program == __file__ else program, *arguments])


if __name__ == "__main__":
    main()
