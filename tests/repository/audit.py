"""Search for known vulnerabilities of the packages in the lock file: `python -m tests.repository.audit`.

The exit code is 1 if pyproject.toml does not accept a vulnerability ([tool.petservice], accepted-vulnerabilities). If
no source responds, the output says that nothing was audited. The exit code is then 0, or 1 with `--strict`.
"""

import argparse
import json
import subprocess
import sys
from datetime import UTC, date, datetime
from typing import Any

from tests.repository.dependencies import LOCK, PROJECT

# The sources in the order in which they are tried until one responds, with pip-audit's names for them.
SOURCES = {"Python Package Index": "pypi", "OSV": "osv"}


def query(source: str, *options: str) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """Return the vulnerabilities by package, and the names of the packages that the source does not have."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(LOCK), "--require-hashes", "--disable-pip"]
    options = ("--vulnerability-service", source, "--format", "json", "--progress-spinner", "off", *options)
    result = subprocess.run([*command, *options], capture_output=True, text=True)
    try:
        packages = json.loads(result.stdout)["dependencies"]
    except json.JSONDecodeError:
        print(f"pip-audit: {(result.stderr.strip() or 'no output').splitlines()[-1]}")
        return {}, []
    # A package that the source does not have comes with a reason in place of version and vulnerabilities.
    found = {f"{one['name']} {one['version']}": one["vulns"] for one in packages if "vulns" in one}
    return found, [one["name"] for one in packages if "vulns" not in one]


def unaccepted(found: dict[str, list[dict[str, Any]]], accepted: list[dict[str, Any]], today: date) -> list[str]:
    """Return a line for each vulnerability that is not accepted today."""
    current = {one["id"] for one in accepted if one["until"] >= today}
    return [
        f"{package}: {one['id']} ({', '.join(one['aliases'])}),"
        f" fixed in {', '.join(one['fix_versions']) or 'no release'}"
        for package, vulnerabilities in found.items()
        for one in vulnerabilities
        if not current & {one["id"], *one["aliases"]}
    ]


def expired(accepted: list[dict[str, Any]], today: date) -> list[str]:
    """Return a line for each accepted vulnerability whose date has passed."""
    return [f"{one['id']}: accepted until {one['until']} only" for one in accepted if one["until"] < today]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strict", action="store_true", help="fail if a package could not be audited")
    parser.add_argument("--osv-url", help="use only this server, which has the interface of OSV")
    options = parser.parse_args()
    accepted = PROJECT["tool"]["petservice"]["accepted-vulnerabilities"]
    today = datetime.now(UTC).date()

    for name, source in {options.osv_url: "osv"}.items() if options.osv_url else SOURCES.items():
        found, unknown = query(source, *(["--osv-url", options.osv_url] if options.osv_url else []))
        print(f"{name}: {len(found)} packages audited." if found else f"{name}: no response.")
        if found:
            break
    if not found or unknown:
        missing = ", ".join(unknown) if found else f"all packages in {LOCK.name}, because no source responded"
        print(f"NOT AUDITED, may have known vulnerabilities: {missing}")
    problems = unaccepted(found, accepted, today) + expired(accepted, today)
    print(*problems, sep="\n", end="\n" if problems else "")
    return int(bool(problems) or (options.strict and (not found or bool(unknown))))


if __name__ == "__main__":
    sys.exit(main())
