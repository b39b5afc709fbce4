"""The command line of the service: `petservice`, `python -m petservice` and `manage.py` all run `main`."""

import gc
import os
import sys

from petservice import __version__

# Number of new objects after which Python collects garbage, instead of 700. A collection visits the objects that a
# command loads at its start, which takes a tenth of that start. In a worker it visits all objects of the requests in
# progress. While many clients wait, this takes milliseconds, in which no request is served.
COLLECTION_THRESHOLD = 10_000


def main() -> None:
    """Run the management command that the arguments name."""
    gc.set_threshold(COLLECTION_THRESHOLD)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petservice.settings")
    from django.core.management import execute_from_command_line
    from django.db import DatabaseError

    from petservice.db.backend import time_limit

    program, *arguments = sys.argv
    if arguments == ["--version"]:  # Django would print its own
        sys.stdout.write(f"petservice {__version__}\n")
        return
    time_limit.set(None)  # management commands have no time limit; `serve` sets that of its requests
    try:
        # In place of the name of this file, Django would show `python -m django`.
        execute_from_command_line(["petservice" if program == __file__ else program, *arguments])
    except DatabaseError as error:  # a server away, a damaged file, missing rights: what commands do not expect
        if "--traceback" in arguments:
            raise
        sys.exit(f"The database cannot be used: {error}")
    except KeyboardInterrupt:
        sys.exit(130)  # as shells report an interrupt


if __name__ == "__main__":
    main()
