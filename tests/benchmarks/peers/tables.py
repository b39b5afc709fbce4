"""The Markdown tables of a comparison."""

import math
import statistics
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import NamedTuple

from tests.benchmarks.peers.load import Measurement
from tests.benchmarks.tables import print_header, print_row

# The figures of one server: a measurement for each round, by scenario.
Runs = dict[str, list[Measurement]]
Figure = Callable[[Measurement], float]


class Results(NamedTuple):
    """The figures of one database's rounds, by the name of the server; memory in MiB."""

    scenarios: Sequence[str]
    runs: dict[str, Runs]
    memory: dict[str, float]

    def print_table(self, title: str, figure: Figure, digits: int, base: str = "") -> None:
        """Print a row for each server and a column for each scenario, of the figures or of their ratios to a base."""

        def values(name: str, scenario: str) -> list[float]:
            own = [figure(run) for run in self.runs[name].get(scenario, [])]
            if not base:
                return own
            # Those in the same round. Without idempotency keys, the base has only plain posts.
            others = [figure(run) for run in self.runs[base].get(scenario, self.runs[base].get("post", []))]
            return [value / other for value, other in zip(own, others, strict=False) if other]

        print(f"\n**{title}**")
        print_header("", *self.scenarios)
        for name in self.runs:
            print_row(name, *(_median(values(name, one), digits) for one in self.scenarios))


def _median(values: list[float], digits: int) -> str:
    """Return the median of the rounds with the standard error of their mean, or nothing without values."""
    if not any(values):
        return ""
    median = statistics.median(values)
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0
    return f"{median:.{digits}f} (±{error / median:.0%})"


def print_tables(results: Results, *, has_server: bool, bases: Sequence[str]) -> None:
    """Print all tables, including the CPU time of the database only if it is a server."""
    figures: dict[str, tuple[Figure, int]] = {"CPU of the server per request, milliseconds": (attrgetter("cpu"), 3)}
    if has_server:
        figures["CPU of the database per request, milliseconds"] = attrgetter("database_cpu"), 3
        figures["CPU of both per request, milliseconds"] = lambda run: run.cpu + run.database_cpu, 3
    figures["Throughput in requests per second"] = attrgetter("rate"), 0
    figures["p99 latency, milliseconds"] = attrgetter("p99"), 2
    for label, (figure, digits) in figures.items():
        results.print_table(label, figure, digits)
    for base in bases:
        for label, (figure, _) in figures.items():
            results.print_table(f"{label.partition(',')[0]}, ratio to {base}", figure, 2, base)
    print("\n**Memory after the load, all processes**")
    print_header("", "PSS, MiB")
    for name, size in results.memory.items():
        print_row(name, f"{size:.0f}")
