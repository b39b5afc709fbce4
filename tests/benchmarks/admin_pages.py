"""The CPU of each page of the admin and the time that it takes, with few and with many pets."""

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from tests.benchmarks.databases import Database, connected
from tests.benchmarks.filled_databases import Grown
from tests.benchmarks.processes import cpu_seconds
from tests.benchmarks.tables import print_header, print_row
from tests.service import log_in, running_service

# The promises: the CPU with many pets, as a ratio to that with few, and the milliseconds that a page takes.
MAX_RATIO = 1.2
MAX_MILLISECONDS = 200
# The CPU time of a service, and of its database server.
CPU = tuple[float, float]
PAGES = {
    "admin dashboard": "/admin/",
    "pets": "/admin/pets/pet/",
    "pets, page 50": "/admin/pets/pet/?p=50",
    "search, one letter": "/admin/pets/pet/?q=b",
    "search, a name": "/admin/pets/pet/?q=balaKO",
    "search, one letter of Cyrillic": "/admin/pets/pet/?q=к",
    "search, none": "/admin/pets/pet/?q=xyz",
    "search, a word of nine of ten pets": "/admin/pets/pet/?q=rex",
    "search, that word and one letter": "/admin/pets/pet/?q=rex+b",
    "search, four letters": "/admin/pets/pet/?q=r+b+m+n",
    "search, that word and three filters": "/admin/pets/pet/?q=rex&no_tag=1&creator=api&status__exact=sold",
    "search, an empty list with suggestions": "/admin/pets/pet/?q=balakox+zzz&status__exact=sold&tag=tag+1",
    "sorted by name": "/admin/pets/pet/?o=1",
    "sorted by status, reversed": "/admin/pets/pet/?o=-3",
    "sorted by day, oldest first": "/admin/pets/pet/?o=4",
    "filter by status, sorted by name": "/admin/pets/pet/?status__exact=sold&o=1",
    "filter without a tag": "/admin/pets/pet/?no_tag=1",
    "filter by creator": "/admin/pets/pet/?creator=api",
    "filter by status, creator unknown": "/admin/pets/pet/?creator=unknown&status__exact=sold",
    "four broad filters": "/admin/pets/pet/?creator=api&status__exact=available&no_tag=1&created_from={month_ago}",
    "filter by status": "/admin/pets/pet/?status__exact=pending",
    "filter by a common tag": "/admin/pets/pet/?tag=tag+1",
    "filter by a rare tag": "/admin/pets/pet/?tag=tag+4321",
    "filter by a tag that old pets have, by status": "/admin/pets/pet/?tag=old&o=-status",
    "filter by days, by status": "/admin/pets/pet/?created_from={month_ago}&created_to={week_ago}&o=-status",
    "two words that old pets have, newest first": "/admin/pets/pet/?q=old+rex&o=-created_at",
    "filter by days": "/admin/pets/pet/?created_from={month_ago}&created_to={week_ago}",
    "filter by day of sale": "/admin/pets/pet/?sold_from={month_ago}&sold_to={week_ago}",
    "filter by day of sale and tag": "/admin/pets/pet/?sold_from={month_ago}&sold_to={week_ago}&tag=dog",
    "filter by day of sale and tag, none fits": "/admin/pets/pet/?sold_from={today}&tag=old&creator=staff",
    "filter by days, day of sale and tag": "/admin/pets/pet/?created_from={month_ago}&sold_from={month_ago}&tag=tag+2",
    "filter by day of sale, newest first": "/admin/pets/pet/?sold_from={month_ago}&sold_to={week_ago}&o=-created_at",
    "filter by day of sale, sorted by name": "/admin/pets/pet/?sold_from={month_ago}&o=name",
    "sorted by day of sale": "/admin/pets/pet/?o=-sold_at",
    "filter by status, sorted by day of sale, first one first": "/admin/pets/pet/?status__exact=sold&o=sold_at",
    "filter by status and days": "/admin/pets/pet/?status__exact=sold&created_from={month_ago}&created_to={week_ago}",
    "search and filter": "/admin/pets/pet/?q=b&status__exact=pending",
    "filter by status and tag, a quarter fits": "/admin/pets/pet/?status__exact=available&tag=dog",
    "filter by status and tag, old ones fit": "/admin/pets/pet/?status__exact=sold&tag=old",
    "filter by status and tag, few fit": "/admin/pets/pet/?status__exact=sold&tag=bird",
    "filter by status and tag, none fits": "/admin/pets/pet/?status__exact=available&tag=old",
    "the same, by name": "/admin/pets/pet/?status__exact=available&tag=old&o=name",
    "frequent word and status": "/admin/pets/pet/?q=rex&status__exact=available",
    "frequent word and status, newest first": "/admin/pets/pet/?q=rex&status__exact=available&o=-created_at",
    "frequent word, status and tag, none fits": "/admin/pets/pet/?q=rex&status__exact=available&tag=old",
    "the same, newest first": "/admin/pets/pet/?q=rex&status__exact=available&tag=old&o=-created_at",
    "frequent word, oldest first": "/admin/pets/pet/?q=rex&o=created_at",
    "two frequent words": "/admin/pets/pet/?q=rex+of",
    "two frequent words and a status, by status": "/admin/pets/pet/?q=rex+of&status__exact=pending&o=status",
    "two frequent words, days and a status, first one sold first": (
        "/admin/pets/pet/?q=rex+of&status__exact=sold&created_from={half_a_month_ago}&o=sold_at"
    ),
    "suggest tags": "/admin/pets/pet/tags/?q=tag+4",
    "a pet's page": "/admin/pets/pet/{pet}/change/",
    "a pet's history": "/admin/pets/pet/{pet}/history/",
    "trash, page 200": "/admin/pets/trashedpet/?p=200",
    "search of the trash, a frequent word": "/admin/pets/trashedpet/?q=rex",
    "search of the trash, none": "/admin/pets/trashedpet/?q=xyz",
    "recent changes": "/admin/pets/recentchange/",
    "audit": "/admin/journal/event/",
    "audit, page 100": "/admin/journal/event/?p=100",
    "audit by person": "/admin/journal/event/?person=ada&p=100",
    "audit by person, none": "/admin/journal/event/?person=cleo",
    "audit by kind": "/admin/journal/event/?kind=changed&p=100",
    "audit by person and kind, none": "/admin/journal/event/?person=ada&kind=key_rotated",
    "audit by record": "/admin/journal/event/?record_type=pets.pet&p=100",
    "audit by person and record": "/admin/journal/event/?person=ada&record_type=pets.pet&p=100",
    "audit by kind and record, none": "/admin/journal/event/?kind=changed&record_type=apikeys.apikey",
    "audit by all, none": "/admin/journal/event/?person=ada&kind=login&record_type=pets.pet&day_from={month_ago}",
    "audit by all and one record": "/admin/journal/event/?person=ada&kind=changed&record_type=pets.pet&record_id=1",
    "audit by days": "/admin/journal/event/?day_from={month_ago}&day_to={week_ago}&p=100",
    "audit by kind and days, none": "/admin/journal/event/?kind=deleted&day_from={month_ago}",
}


@contextmanager
def measured_pages(database: Database) -> Iterator[Callable[[str], tuple[float, CPU]]]:
    """Run a service, and yield a function that opens a page.

    It returns the milliseconds that the page takes, or NaN if it fails, and those of the CPU.
    """
    with connected(database) as connection:
        [(pet,)] = connection.execute("SELECT CAST(id AS text) FROM pets_pet LIMIT 1").fetchall()
    today = datetime.now(UTC).date()
    values = {
        "today": today,
        "month_ago": today - timedelta(days=30),
        "half_a_month_ago": today - timedelta(days=15),
        "week_ago": today - timedelta(days=7),
        "pet": pet,
    }
    with (
        running_service(database.folder, DATABASE_URL=database.url, WEB_CONCURRENCY="1") as service,
        service.client() as client,
    ):
        log_in(client, "staff", "a long one")

        def cpu() -> CPU:
            return 1000 * cpu_seconds(service.process.pid), 1000 * cpu_seconds(database.server)

        def measure(page: str) -> tuple[float, CPU]:
            before, began = cpu(), time.perf_counter()
            response = client.get(PAGES[page].format(**values))
            elapsed, after = 1000 * (time.perf_counter() - began), cpu()
            # With very many pets, a statement may reach its time limit.
            is_shown = response.status_code == 200
            return elapsed if is_shown else math.nan, (after[0] - before[0], after[1] - before[1])

        yield measure


def print_pages(few: Grown, many: Grown, rounds: int) -> None:
    """Print the mean CPU and the least time of each page of the admin, of interleaved rounds."""
    print_header("page", "CPU few, ms", "CPU many, ms", "ratio", "elapsed few, ms", "elapsed many, ms")
    with measured_pages(few.database) as of_few, measured_pages(many.database) as of_many:
        for page in PAGES:
            runs = [(of_few(page), of_many(page)) for _ in range(rounds + 1)]
            del runs[0]  # the first round fills caches
            few_ms, many_ms = (min(elapsed for elapsed, _ in one) for one in zip(*runs, strict=True))
            cpu = [[used for _, used in one] for one in zip(*runs, strict=True)]
            mark = "" if many_ms <= MAX_MILLISECONDS else "**"  # also of a page that fails, whose time is NaN
            print_row(page, *compared(*cpu), f"{few_ms:.0f}", f"{mark}{many_ms:.0f}{mark}")


def compared(few: Sequence[CPU], many: Sequence[CPU]) -> Iterator[str]:
    """Yield the cells for the CPU with few and with many pets, each of service and server, and for the ratio."""
    sums = []
    for runs in (few, many):
        service, server = (statistics.mean(parts) for parts in zip(*runs, strict=True))
        sums.append(service + server)
        yield f"{service:.0f} + {server:.0f}" if server else f"{service:.0f}"
    ratio = sums[1] / sums[0] if sums[0] else math.nan
    yield f"**{ratio:.2f}**" if ratio > MAX_RATIO else f"{ratio:.2f}"
