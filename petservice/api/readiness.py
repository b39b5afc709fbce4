"""Whether this process can serve requests: the service is not about to stop, and its database can be used."""

import logging
import mmap
from math import inf
from pathlib import Path
from threading import Lock
from time import monotonic

from django.db import DatabaseError, connection

from petservice.db.backend import time_limit
from petservice.db.pending_migrations import pending_migrations, pending_migrations_message
from petservice.db.postgresql.base import UnsuitableDatabaseError

logger = logging.getLogger(__name__)

# Whether the service is about to stop, in memory that the worker processes share with the process that forks them.
_stopping = mmap.mmap(-1, 1)


def announce_stop() -> None:
    """Make `/ready` return 503 in all worker processes from now on."""
    _stopping[0] = 1


def is_stopping() -> bool:
    """Return whether the service is about to stop."""
    return _stopping[0] == 1


# Seconds between two checks of the database, because a check is slow and strangers may request `/ready` at any rate.
_INTERVAL = 1.0
# Seconds between two checks for the metrics.
WATCH_INTERVAL = 5.0
# Seconds after which a check that has not ended counts as failed in the metrics.
_WATCH_AGE = 3 * WATCH_INTERVAL
# Seconds that a check waits for the response to a statement.
CHECK_TIMEOUT = 5.0
NO_ANSWER = "The database does not answer."


class Readiness:
    """The cached result of this process's readiness check."""

    def __init__(self) -> None:
        self._checking = Lock()
        self._obstacle = ""
        self._checked_at = -inf
        # How many migrations the last check found pending, None before it. While it is 0, no request waits for a check.
        self.pending_migrations: int | None = None

    def was_ready(self) -> bool:
        """Return whether the last check found no obstacle, and is not so old that the next one must have failed."""
        return not (is_stopping() or self._obstacle or monotonic() - self._checked_at >= _WATCH_AGE)

    def obstacle(self) -> str:
        """Return why the database cannot be used, or an empty string. Checks it at most once per _INTERVAL.

        Logs a change: why the database cannot be used, or that it can be used again.
        """
        if is_stopping():
            return "The service is about to stop."
        with self._checking:  # requests during a check wait for its result
            if monotonic() - self._checked_at >= _INTERVAL:
                before, self._obstacle = self._obstacle, self._check()
                self._checked_at = monotonic()
                if self._obstacle and self._obstacle != before:
                    logger.error("Not ready: %s", self._obstacle)
                elif before and not self._obstacle:
                    logger.info("Ready again.")
            return self._obstacle

    def has_pending_migrations(self) -> bool:
        """Return whether migrations are pending. After a check that found none, only `/ready` and metrics check again.

        A database that does not respond counts as migrated, because the caller's own query will fail then.
        """
        if self.pending_migrations != 0:
            self.obstacle()
        return bool(self.pending_migrations)

    def _check(self) -> str:
        limited = time_limit.set(CHECK_TIMEOUT)
        try:
            pending = self.pending_migrations = pending_migrations()
        except UnsuitableDatabaseError as error:
            return str(error)
        except DatabaseError as error:
            if self._obstacle != NO_ANSWER:
                logger.error("The check of the database failed: %s", str(error).strip())
            return NO_ANSWER
        finally:
            time_limit.reset(limited)
        # Open connections still write a file that has no name any more, so what they write may be lost.
        if connection.vendor == "sqlite" and not Path(connection.settings_dict["NAME"]).exists():
            return "The file of the database was moved or deleted."
        return pending_migrations_message(pending) if pending else ""


readiness = Readiness()
