"""The use of API keys: counted in the memory of each worker, and written to the database once a minute.

A request only adds to numbers in memory. A thread of the worker writes them, so no request waits for that. An orderly
stop writes what is left. A worker that is killed loses what it counted since its last write.
"""

import atexit
import logging
import threading
import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import Error, connection, transaction
from django.db.models import Q

from petservice.apikeys.models import USAGE_DAYS, APIKey, KeyDay
from petservice.client_address import client_address
from petservice.db.backend import backend

logger = logging.getLogger(__name__)

# Seconds between two looks at what was counted, so that a key that was idle shows its use soon.
LOOK_INTERVAL = 1.0
# Seconds between two writes of a worker.
WRITE_INTERVAL = 60.0
# Seconds that a stopping process waits for the last write, a little more than PostgreSQL's lock timeout of 5 seconds.
# A database that does not respond must not delay the stop.
STOP_TIMEOUT = 6.0
# Maximum number of keys and days in memory while the database cannot be written. Each takes about 300 bytes.
MAX_DAYS = 10_000
# Maximum number of keys and days in one transaction, so that other writers do not wait long on SQLite.
MAX_DAYS_AT_ONCE = 100

_SECONDS_PER_DAY = 86_400
# The sums are added in the database, because each worker has its own. A key that was deleted is skipped.
_ADD = """
INSERT INTO apikeys_keyday (api_key_id, day, requests, client_errors, server_errors)
SELECT id, %s, %s, %s, %s FROM apikeys_apikey WHERE id = %s
ON CONFLICT (api_key_id, day) DO UPDATE SET
requests = apikeys_keyday.requests + excluded.requests,
client_errors = apikeys_keyday.client_errors + excluded.client_errors,
server_errors = apikeys_keyday.server_errors + excluded.server_errors
"""


@dataclass(slots=True)
class Use:
    """The use of one key on one day, and the time and the client of its last request."""

    requests: int = 0
    client_errors: int = 0
    server_errors: int = 0
    last_used: float = 0.0
    peer: str | None = None
    forwarded_for: str = ""

    def add_earlier(self, earlier: "Use") -> None:
        """Add the numbers of an earlier use."""
        self.requests += earlier.requests
        self.client_errors += earlier.client_errors
        self.server_errors += earlier.server_errors

    @property
    def address(self) -> str | None:
        address = client_address(self.peer, self.forwarded_for, settings.TRUSTED_PROXIES)
        return None if address is None else str(address)


# A key's primary key and the number of a day since 1970 (UTC).
Place = tuple[int, int]


class UsageRecorder:
    """The counters of one process, and the thread that writes them.

    Without `in_background` there is no thread, and the caller calls `write`.
    """

    def __init__(self, *, in_background: bool = True) -> None:
        self._in_background = in_background
        self._lock = threading.Lock()
        self._uses: dict[Place, Use] = {}
        self._deleted_on: date | None = None
        self._is_stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def count(self, key: int, status: int, now: float, *, peer: str | None, forwarded_for: str) -> None:
        """Count a request with a valid key, by the status of its response; `now` is in seconds since 1970.

        `peer` and `forwarded_for` are those of petservice.client_address.
        """
        place = key, int(now) // _SECONDS_PER_DAY
        with self._lock:
            use = self._uses.get(place) or self._first_use(place)
            use.requests += 1
            if status >= 400:
                if status < 500:
                    use.client_errors += 1
                else:
                    use.server_errors += 1
            use.last_used = now
            use.peer, use.forwarded_for = peer, forwarded_for

    def _first_use(self, place: Place) -> Use:
        use = Use()
        if len(self._uses) < MAX_DAYS:  # further keys are not counted, because memory is limited
            self._uses[place] = use
        if self._in_background and self._thread is None:
            # Here, because the process that loads this module forks the workers, and a fork has none of its threads.
            self._thread = threading.Thread(target=self._run, name="key-usage", daemon=True)
            self._thread.start()
            atexit.register(self._stop, self._thread)
        return use

    def write(self, now: datetime | None = None) -> None:
        """Add what was counted since the last write to the database; keep it for the next write if that fails."""
        with self._lock:
            uses, self._uses = self._uses, {}
        # In the order of keys, so that workers do not wait for each other in a circle.
        places = sorted(uses)
        try:
            for start in range(0, len(places), MAX_DAYS_AT_ONCE):
                self._write_days(places[start : start + MAX_DAYS_AT_ONCE], uses)
            self._delete_old_days((now or datetime.now(UTC)).date())
        finally:
            self._put_back(uses)  # those that are written have been removed

    def _write_days(self, places: list[Place], uses: dict[Place, Use]) -> None:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.executemany(_ADD, [_row(place, uses[place]) for place in places])
            for place in places:
                use = uses[place]
                last_used_at = datetime.fromtimestamp(use.last_used, UTC)
                is_later = Q(last_used_at=None) | Q(last_used_at__lt=last_used_at)
                APIKey.objects.filter(is_later, pk=place[0]).update(
                    last_used_at=last_used_at, last_used_address=use.address
                )
        for place in places:
            del uses[place]

    def _delete_old_days(self, today: date) -> None:
        if self._deleted_on == today:
            return
        with transaction.atomic():
            if backend().try_lock(KeyDay._meta.db_table, 0):
                KeyDay.objects.filter(day__lte=today - timedelta(days=USAGE_DAYS)).delete()
        self._deleted_on = today

    def _put_back(self, uses: dict[Place, Use]) -> None:
        with self._lock:
            for place, use in uses.items():
                later = self._uses.setdefault(place, use)
                if later is not use:
                    later.add_earlier(use)

    # The following runs on the thread, except _stop.

    def _run(self) -> None:
        next_write = 0.0
        while not self._is_stopping.wait(LOOK_INTERVAL):
            if self._uses and time.monotonic() >= next_write:
                self._write_or_log()
                next_write = time.monotonic() + WRITE_INTERVAL
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


def _row(place: Place, use: Use) -> list[Any]:
    key, number = place
    day = connection.ops.adapt_datefield_value(date(1970, 1, 1) + timedelta(days=number))
    return [day, use.requests, use.client_errors, use.server_errors, key]


recorder = UsageRecorder()
