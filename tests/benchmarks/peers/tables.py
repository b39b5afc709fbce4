"""The Markdown tables of a comparison."""

import statistics
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import NamedTuple

from tests.benchmarks.peers.load import IDEMPOTENT, Measurement
from tests.benchmarks.peers.servers import BASELINE

# The figures of one server: a measurement for each round, by scenario.
Runs = dict[str, list[Measurement]]
Figure = Callable[[Measurement], float]


class Results(NamedTuple):
    """The figures of one database's rounds, by the name of the server; memory in MiB."""

    scenarios: Sequence[str]
    runs: dict[str, Runs]
    memory: dict[str, list[float]]

    def table(self, cell: Callable[[str, str], str]) -> str:
        """Return a table with a row for each server and a column for each scenario."""
        rows = [[name, *(cell(name, scenario) for scenario in self.scenarios)] for name in self.runs]
        return markdown(["", *self.scenarios], rows)

    def medians(self, figure: Figure, digits: int) -> str:
        """Return the table of the medians of the rounds, with their spread: (highest - lowest) / median."""

        def cell(name: str, scenario: str) -> str:
            values = [figure(run) for run in self.runs[name].get(scenario, [])]
            median = statistics.median(values or [0])
            return f"{median:.{digits}f} ({(max(values) - min(values)) / median:.0%})" if median else ""

        return self.table(cell)

    def ratios(self, figure: Figure) -> str:
        """Return the table of the ratios to the baseline, or nothing if that is not measured."""
        if BASELINE not in self.runs:
            return ""
        return self.table(lambda name, scenario: self.ratio(figure, name, scenario, BASELINE, scenario))

    def ratio(self, figure: Figure, name: str, scenario: str, other: str, its_scenario: str) -> str:
        """Return the median of the ratios of two runs in the same round, or nothing if one is missing."""
        runs = self.runs[name].get(scenario, []), self.runs.get(other, {}).get(its_scenario, [])
        pairs = [(figure(run), figure(base)) for run, base in zip(*runs, strict=False)]
        ratios = [value / base for value, base in pairs if base]
        return f"{statistics.median(ratios):.2f}" if ratios else ""


def report(results: Results, *, has_server: bool, service: str, earlier: Sequence[str]) -> str:
    """Return all tables, including the CPU time of the database only if it is a server."""
    figures: dict[str, Figure] = {"CPU of the server": attrgetter("cpu")}
    if has_server:
        figures["CPU of the database"] = attrgetter("database_cpu")
    parts = {}
    for label, figure in figures.items():
        parts[f"{label} per request, milliseconds"] = results.medians(figure, 3)
        parts[f"{label} per request, ratio to {BASELINE}"] = results.ratios(figure)
    parts["Throughput in requests per second"] = results.medians(attrgetter("rate"), 0)
    parts[f"Throughput in requests per second, ratio to {BASELINE}"] = results.ratios(attrgetter("rate"))
    parts["p99 latency, milliseconds"] = results.medians(attrgetter("p99"), 2)
    memory = [[name, f"{statistics.median(sizes):.0f}"] for name, sizes in results.memory.items()]
    parts["Memory after the load, all processes"] = markdown(["", "PSS, MiB"], memory)
    if has_server:
        figures["CPU of both"] = attrgetter("total_cpu")
    if service in results.runs:
        parts[f"POST with an idempotency key, ratio to {service} without one"] = _idempotency(results, service, figures)
        for other in earlier:
            parts[f"{service}, ratio to {other}"] = _versions(results, service, other, figures)
    return "\n\n".join(f"**{title}**\n\n{table}" for title, table in parts.items() if table)


def _idempotency(results: Results, service: str, figures: dict[str, Figure]) -> str:
    rows = [
        [scenario, *(results.ratio(figure, service, scenario, service, "post") for figure in figures.values())]
        for scenario in IDEMPOTENT
        if scenario in results.scenarios
    ]
    return markdown(["", *figures], rows)


def _versions(results: Results, service: str, other: str, figures: dict[str, Figure]) -> str:
    rows = [
        [label, *(results.ratio(figure, service, scenario, other, scenario) for scenario in results.scenarios)]
        for label, figure in (figures | {"p99": attrgetter("p99")}).items()
    ]
    sizes = [ours / theirs for ours, theirs in zip(results.memory[service], results.memory[other], strict=True)]
    rows.append(["memory", f"{statistics.median(sizes):.2f}", *[""] * (len(results.scenarios) - 1)])
    return markdown(["", *results.scenarios], rows)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
