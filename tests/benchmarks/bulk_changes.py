"""`python -m tests.benchmarks.bulk_changes` measures changes of 10,000 pets and their undoing among a million pets.

For SQLite and PostgreSQL it prints the seconds of each request of a member of staff, as the median of the rounds. The
time is that of the complete request inside the process, without a socket.
"""

import argparse
import statistics
import time
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import setup_test_environment

from pets.models import Pet
from tests.backoffice.pages import fields_of, undo_url
from tests.benchmarks.databases import DATABASES, empty_database
from tests.benchmarks.sample_pets import fill

# Number of pets that one change affects: the maximum of an action.
CHANGED = 10_000


def measure(pets: int, rounds: int) -> None:
    """Fill the database that the environment names, and print the times."""
    setup_test_environment()  # so that a response has the context of its page
    user = fill(pets)
    Pet.objects.bulk_create(Pet(name=f"Changed {number}", tag="rare") for number in range(CHANGED))
    client = Client()
    client.force_login(user)
    times: dict[str, list[float]] = {}

    def timed(name: str, url: str, fields: Any) -> Any:
        start = time.perf_counter()
        response = client.post(url, fields)
        times.setdefault(name, []).append(time.perf_counter() - start)
        assert response.status_code in (200, 302), (name, response.status_code)
        return client.get(response["Location"]) if response.status_code == 302 else response

    def changed_and_undone(name: str, response: Any) -> None:
        url = undo_url(response)
        start = time.perf_counter()
        page = client.get(url)
        times.setdefault(f"{name}: page of the undo", []).append(time.perf_counter() - start)
        timed(f"{name}: undo", url, fields_of(page, "undo"))

    lists = "/admin/pets/pet/?tag=rare"
    for _ in range(rounds):
        selected = {"index": 0, "select_across": 1, "_selected_action": Pet.objects.filter(tag="rare").first().pk}
        page = client.post(lists, selected | {"action": "mark_as_sold"})
        response = timed("mark as sold", lists, fields_of(page, "confirmation"))
        changed_and_undone("mark as sold", response)
        page = client.post(lists, selected | {"action": "set_tag"})
        response = timed("set tag", lists, fields_of(page, "confirmation") | {"new_tag": "new"})
        changed_and_undone("set tag", response)
        file = SimpleUploadedFile("pets.csv", b"name\n" + b"".join(b"New %d\n" % number for number in range(CHANGED)))
        page = client.post("/admin/pets/pet/import/", {"file": file})
        upload = {"upload": page.context["upload"].pk}
        response = timed("import", "/admin/pets/pet/process_import/", upload)
        changed_and_undone("import", response)
    for name, seconds in times.items():
        print(f"| {connection.vendor} | {name} | {statistics.median(seconds):.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--pets", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        measure(options.pets, options.rounds)
        return
    print(f"| database | request for {CHANGED:,} of {options.pets:,} pets | seconds |\n| --- | --- | --- |", flush=True)
    arguments = ("--child", "--pets", options.pets, "--rounds", options.rounds)
    for name in DATABASES:
        with empty_database(name) as database:
            database.run("-m", "tests.benchmarks.bulk_changes", *arguments)


if __name__ == "__main__":
    main()
