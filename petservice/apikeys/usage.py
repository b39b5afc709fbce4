"""The use of API keys, counted in the memory of each worker and written to the database once a minute.

A request only adds to numbers in memory. A thread of the worker writes them, so no request waits for that. An orderly
stop writes what is left. A worker that is killed loses what it counted since its last write.
"""

import atexit
import logging
import threading
from collections import Counter
from contextlib import suppress
from datetime import UTC, date, datetime

from django.db import Error, connection, transaction
from django.db.models import F, Q

from petservice.apikeys.models import USAGE_DAYS, APIKey, KeyDay

logger = logging.getLogger(__name__)

# Seconds between two writes of a worker. The first one follows the first use.
WRITE_INTERVAL = 60.0
# Seconds that a stopping process waits for the last write, a little more than PostgreSQL's lock timeout of 5 seconds.
# A database that does not respond must not delay the stop.
STOP_TIMEOUT = 6.0

# The numbers of requests by primary key, day (UTC) and column of KeyDay. The last use of each key: the time, and the
# address of the client.
Counts = Counter[tuple[int, date, str]]
LastUses = dict[int, tuple[datetime, str | None]]


class UsageRecorder:
    """The counters of one process, and the thread that writes them."""

    _thread: threading.Thread | None = None

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counts = Counter()
        self._last: LastUses = {}
        self._is_stopping = threading.Event()

    def count(self, key: int, status: int, now: float, address: str | None) -> None:
        """Count a request with a valid key, by the status of its response; `now` is in seconds since 1970."""
        at = datetime.fromtimestamp(now, UTC)
        day = at.date()
        with self._lock:
            if self._thread is None:
                # At the first use, because the process that loads this module forks the workers.
                thread = threading.Thread(target=self._run, name="key-usage", daemon=True)
                with suppress(RuntimeError):  # the system lets no thread start, so the next use tries again
                    thread.start()
                    self._thread = thread
                    atexit.register(self._stop, thread)
            # Only valid keys get here, so memory is bounded by their number.
            self._counts[key, day, "requests"] += 1
            if status >= 400:
                self._counts[key, day, "server_errors" if status >= 500 else "client_errors"] += 1
            self._last[key] = at, address

    def write(self) -> None:
        """Add what was counted since the last write to the database; keep it for the next write if that fails."""
        with self._lock:
            counts, last = self._counts, self._last
            self._counts, self._last = Counter(), {}
        try:
            if counts:
                _write(counts, last)
        except BaseException:
            with self._lock:
                self._counts += counts
                self._last = last | self._last
            raise

    # The following runs on the thread, except _stop.

    def _run(self) -> None:
        self._write_or_log()
        while not self._is_stopping.wait(WRITE_INTERVAL):
            self._write_or_log()
        self._write_or_log()

    def _write_or_log(self) -> None:
        try:
            self.write()
        except Exception as error:  # the thread must go on
            traceback = None if isinstance(error, Error) else error
            outcome = "lost" if self._is_stopping.is_set() else "kept for the next write"
            logger.warning("The use of API keys was not written and is %s: %s", outcome, error, exc_info=traceback)
        finally:
            connection.close()  # it is needed once a minute

    def _stop(self, thread: threading.Thread) -> None:
        """Write what was counted, and end the thread."""
        self._is_stopping.set()
        thread.join(STOP_TIMEOUT)


@transaction.atomic
def _write(counts: Counts, last: LastUses) -> None:
    """Add uses to the database, and keep as many days with uses as pages show."""
    # In the order of keys, so that workers do not wait for each other in a circle.
    for key, day in sorted({(key, day) for key, day, _ in counts}):
        if not APIKey.objects.filter(pk=key).exists():  # it was deleted
            continue
        numbers = {column: counts[key, day, column] for column in ("requests", "client_errors", "server_errors")}
        # In the database, because each worker has its own numbers.
        sums = {column: F(column) + number for column, number in numbers.items()}
        KeyDay.objects.update_or_create(sums, numbers, api_key_id=key, day=day)
        last_used_at, address = last[key]
        is_later = Q(last_used_at=None) | Q(last_used_at__lt=last_used_at)
        APIKey.objects.filter(is_later, pk=key).update(last_used_at=last_used_at, last_used_address=address)
    # Not by today's date, because a clock that is ahead for a moment would delete all days.
    newest = KeyDay.objects.order_by("-day").values_list("day", flat=True).distinct()
    for oldest in newest[USAGE_DAYS - 1 : USAGE_DAYS]:
        KeyDay.objects.filter(day__lt=oldest).delete()


recorder = UsageRecorder()
