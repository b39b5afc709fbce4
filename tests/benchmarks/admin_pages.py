"""`python -m tests.benchmarks.admin_pages` measures the pages of the admin with few and with many pets.

For SQLite and PostgreSQL it prints the time for each page in milliseconds, as the median of interleaved rounds, and
the ratio of many to few pets. The time is that of the complete request inside the process, without a socket.
"""

import argparse
import gc
import math
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from pets.models import Pet
from petservice.__main__ import COLLECTION_THRESHOLD
from tests.benchmarks.databases import DATABASES, Database, empty_database
from tests.benchmarks.sample_audit import fill_audit
from tests.benchmarks.sample_pets import fill
from tests.service import ROOT

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
    "four broad filters": "/admin/pets/pet/?creator=api&status__exact=available&no_tag=1&created_from={month_ago}",
    "filter by status": "/admin/pets/pet/?status__exact=pending",
    "filter by a common tag": "/admin/pets/pet/?tag=tag+1",
    "filter by a rare tag": "/admin/pets/pet/?tag=tag+4321",
    "filter by days": "/admin/pets/pet/?created_from={month_ago}&created_to={week_ago}",
    "filter by day of sale": "/admin/pets/pet/?sold_from={month_ago}&sold_to={week_ago}",
    "filter by day of sale and tag": "/admin/pets/pet/?sold_from={month_ago}&sold_to={week_ago}&tag=dog",
    "filter by day of sale and tag, none fits": "/admin/pets/pet/?sold_from={today}&tag=old&creator=staff",
    "filter by day of sale, newest first": "/admin/pets/pet/?sold_from={month_ago}&o=-created_at",
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
    "suggest tags": "/admin/pets/pet/tags/?q=tag+4",
    "a pet's page": "/admin/pets/pet/{pet}/change/",
    "a pet's history": "/admin/pets/pet/{pet}/history/",
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


class Instance:
    """A process that runs this module with a database of its own, which it fills unless `pets` is 0."""

    def __init__(self, database: Database, pets: int) -> None:
        command = [sys.executable, "-m", "tests.benchmarks.admin_pages", "--child", str(pets)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, cwd=ROOT, env=database.environment(), **pipes)

    def measure(self, page: str) -> float:
        """Return the milliseconds that one request for a page takes, or NaN if it fails."""
        print(page, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def __enter__(self) -> "Instance":
        return self

    def __exit__(self, *exception: object) -> None:
        self.process.communicate()


def measure_pages(pets: int) -> None:
    """Fill the database unless it is full, and then print the time of each page that standard input names."""
    settings.ALLOWED_HOSTS = ["testserver"]
    if pets:
        fill(pets, second_word="Rex")
        fill_audit(pets)
    gc.collect()  # this and the following lines as the service does
    gc.freeze()
    gc.set_threshold(COLLECTION_THRESHOLD)
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.get(username="staff"))
    today = timezone.now().date()
    values = {
        "today": today,
        "month_ago": today - timedelta(days=30),
        "week_ago": today - timedelta(days=7),
        "pet": Pet.objects.first().pk,
    }
    for line in sys.stdin:
        path = PAGES[line.rstrip("\n")].format(**values)
        start = time.perf_counter()
        response = client.get(path)
        elapsed = time.perf_counter() - start
        # With very many pets, a statement may reach its time limit.
        print(elapsed * 1000 if response.status_code == 200 else math.nan, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--few", type=int, default=10_000)
    parser.add_argument("--many", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        measure_pages(options.child)
        return
    sizes = (options.few, options.many)
    for name in DATABASES:
        with ExitStack() as stack:
            instances = {}
            for pets in sizes:
                database = stack.enter_context(empty_database(name))
                instances[pets] = stack.enter_context(Instance(database, pets))
            print(f"\n| {name}, ms | {options.few:,} pets | {options.many:,} pets | ratio |")
            print("| --- | --- | --- | --- |")
            for page in PAGES:
                times = {pets: [] for pets in sizes}
                for round_ in range(options.rounds + 1):
                    for pets in sizes:
                        elapsed = instances[pets].measure(page)
                        if round_:  # the first round fills caches
                            times[pets].append(elapsed)
                few, many = (statistics.median(times[pets]) for pets in sizes)
                print(f"| {page} | {few:.0f} | {many:.0f} | {many / few:.1f} |", flush=True)


if __name__ == "__main__":
    main()
