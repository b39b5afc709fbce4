"""`python -m tests.benchmarks.layers` measures what an API request costs inside the process, by layer.

For SQLite and PostgreSQL and for each operation it prints the queries and function calls per request, which are the
same on every machine, and the CPU time by layer. The total is the median of interleaved rounds, and a profile divides
it into layers. The figures exclude the server, its sockets and its threads, because the program calls the application
directly.
"""

import argparse
import cProfile
import gc
import io
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from django.core.handlers.wsgi import WSGIRequest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pets.models import Pet
from petservice.apikeys.models import APIKey
from petservice.wsgi import application
from tests.benchmarks.databases import DATABASES, empty_database
from tests.benchmarks.sample_pets import fill
from tests.service import ROOT

LAYERS = {
    "this service": tuple(f"{ROOT}/{package}/" for package in ("petservice", "pets", "store")),
    "REST framework": ("/rest_framework/",),
    "Django": ("/django/",),
    "database": ("/psycopg", "sqlite3", "psycopg"),
}
OTHERS = "others"
PROFILED = 200

Call = Callable[[], None]


def calls_of_operations() -> dict[str, Call]:
    """Return a function for each operation that sends one request to the application and checks the status."""
    _, key = APIKey.objects.create_key(name="Benchmark")
    number = Pet.objects.count()
    middle = Pet.objects.order_by("pk").values_list("pk", flat=True)[number // 2]

    def call(path: str, query: str = "", body: bytes = b"") -> Call:
        environ: dict[str, Any] = {
            **{"REQUEST_METHOD": "POST" if body else "GET", "PATH_INFO": path, "QUERY_STRING": query},
            **{"SERVER_NAME": "127.0.0.1", "SERVER_PORT": "8000", "SERVER_PROTOCOL": "HTTP/1.1"},
            **{"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "127.0.0.1:8000", "HTTP_X_API_KEY": key},
            **{"wsgi.url_scheme": "http", "wsgi.errors": sys.stderr, "wsgi.multithread": True},
        }
        if body:
            environ |= {"CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(body))}

        def one() -> None:
            response = application.api_response(WSGIRequest(environ | {"wsgi.input": io.BytesIO(body)}))
            assert response.status_code < 300, response

        return one

    return {
        "health": call("/v1/health"),
        "fetch one pet": call(f"/v1/pets/{middle}"),
        "list 100 pets": call("/v1/pets"),
        "list 100 pets, deep": call("/v1/pets", f"after={middle}"),
        "inventory": call("/v1/store/inventory"),
        "post": call("/v1/pets", body=b'{"name": "Rex", "tag": "dog"}'),
    }


def layer_of(code: Any) -> str | None:
    """Return the layer of a profiled function, or None for a built-in function, which belongs to its caller's layer."""
    where = code if isinstance(code, str) else code.co_filename
    for layer, marks in LAYERS.items():
        if any(mark in where for mark in marks):
            return layer
    return None if isinstance(code, str) else OTHERS


def profile(call: Call) -> tuple[int, dict[str, float]]:
    """Return the number of function calls of `call`, and the fraction of its time in each layer."""
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(PROFILED):
        call()
    profiler.disable()
    number = 0
    times: Counter[str] = Counter()
    for entry in profiler.getstats():
        number += entry.callcount
        layer = layer_of(entry.code)
        if layer is not None:
            times[layer] += entry.inlinetime
        for called in entry.calls or ():
            if layer_of(called.code) is None:
                times[layer or OTHERS] += called.inlinetime
    total = sum(times.values())
    return round(number / PROFILED), {layer: times[layer] / total for layer in (*LAYERS, OTHERS)}


def queries(call: Call) -> int:
    """Return the number of queries that `call` sends to the database."""
    with CaptureQueriesContext(connection) as captured:
        call()
    return len(captured)


def microseconds(call: Call, times: int) -> float:
    """Return the CPU time of one call in microseconds, as the mean of `times` calls."""
    began = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - began) / times * 1e6


def measure(pets: int, rounds: int) -> None:
    """Measure on the empty database of DATABASE_URL, and print the rows of the table."""
    call_command("migrate", verbosity=0)
    fill(pets)
    operations = calls_of_operations()
    gc.collect()
    gc.freeze()  # as in the service's workers
    for call in operations.values():
        microseconds(call, 20)  # opens connections, compiles queries and records the last use of the key
    times: dict[str, list[float]] = {operation: [] for operation in operations}
    for _ in range(rounds):
        for operation, call in operations.items():
            times[operation].append(microseconds(call, 50))
    for operation, call in operations.items():
        number, fractions = profile(call)
        total = statistics.median(times[operation])
        parts = "".join(f"{total * fraction:{max(len(layer), 6) + 2}.0f}" for layer, fraction in fractions.items())
        print(f"{operation:20}{queries(call):8}{number:8}{total:9.0f}{parts}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pets", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--databases", nargs="+", default=DATABASES)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        measure(options.pets, options.rounds)
        return
    header = "".join(f"  {layer:>6}" for layer in (*LAYERS, OTHERS))
    arguments = ("--child", "--pets", options.pets, "--rounds", options.rounds)
    for name in options.databases:
        print(f"\n{name}, {options.pets:,} pets, CPU microseconds per request\n")
        print(f"{'':20}{'queries':>8}{'calls':>8}{'CPU':>9}{header}", flush=True)
        with empty_database(name) as database:
            database.run("-m", "tests.benchmarks.layers", *arguments)


if __name__ == "__main__":
    main()
