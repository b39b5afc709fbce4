"""`python -m tests.benchmarks.cost_of_metrics` compares the CPU per request of a service with and without metrics.

Two services run at the same time, and each load of one is next to one of the other, because the speed of a machine
changes within seconds. Each pair of services gives one ratio, because two starts of one program differ as well. The
program needs `wrk`.
"""

import argparse
import math
import statistics
from contextlib import ExitStack

from tests.benchmarks.databases import DATABASES
from tests.benchmarks.filled_databases import seeded_database
from tests.benchmarks.peers.load import PATHS, Target, measure
from tests.benchmarks.processes import conditions
from tests.benchmarks.tables import print_header, print_row
from tests.service import free_port, running_service

SCENARIOS = [scenario for scenario in PATHS if scenario != "post-replay"]


def ratios(name: str, scenarios: list[str], rounds: int) -> list[float]:
    """Start two services on one kind of database, and return the ratio of each scenario."""
    with ExitStack() as stack:
        targets = []
        for settings in ({}, {"METRICS_BIND": f"127.0.0.1:{free_port()}"}):
            seeded = stack.enter_context(seeded_database(name, 1000))
            database = seeded.database
            service = stack.enter_context(running_service(database.folder, DATABASE_URL=database.url, **settings))
            targets.append((Target(service.url, service.process.pid, None, seeded.key), seeded.pet, database.folder))
        found = []
        for scenario in scenarios:
            cpu: tuple[list[float], list[float]] = ([], [])
            for round_ in range(rounds + 1):
                order = (0, 1) if round_ % 2 else (1, 0)
                for position in order:
                    target, pet, folder = targets[position]
                    seen = measure(target, scenario, [pet], 1, 16, folder)
                    if round_:  # the first one warms up
                        cpu[position].append(seen.cpu)
            found.append(statistics.mean(cpu[1]) / statistics.mean(cpu[0]))
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=DATABASES)
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=SCENARIOS)
    parser.add_argument("--pairs", type=int, default=6, help="of services")
    parser.add_argument("--rounds", type=int, default=8, help="of one second with each pair and scenario")
    options = parser.parse_args()
    print(conditions("Django", "gunicorn"))
    for name in options.databases:
        print(f"\n{name}, {options.pairs} pairs of services, {options.rounds} rounds each")
        print_header("operation", "CPU, ratio", "standard error")
        pairs = [ratios(name, options.scenarios, options.rounds) for _ in range(options.pairs)]
        for scenario, values in zip(options.scenarios, zip(*pairs, strict=True), strict=True):
            error = statistics.stdev(values) / math.sqrt(len(values))
            print_row(scenario, f"{statistics.mean(values):.3f}", f"{error:.3f}")


if __name__ == "__main__":
    main()
