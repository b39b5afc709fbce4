"""Try the installation and the main tasks as README.md shows them: `python -m tests.walkthrough CLONE`.

This runs the run line of README.md in a fresh clone, so that it installs everything, and then the curl lines. In the
admin it changes the status of the created pet. Then it runs the curl lines again, and checks that the inventory has
changed as well.
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx

from tests.documents import block
from tests.service import log_in, responds
from tests.waiting import wait_until

URL = "http://127.0.0.1:8000"


def main(folder: Path) -> None:
    run_line, calls = block("README.md", "run", root=folder), block("README.md", "calls", root=folder)
    log = folder / "walkthrough.log"
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PETSERVICE_", "DATABASE_"))
    }
    with log.open("w") as output:
        service = subprocess.Popen(
            ["bash", "-c", run_line], cwd=folder, env=environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        wait_until(lambda: service.poll() is not None or responds(URL), seconds=300)
        assert service.poll() is None, f"the run line ended with {service.returncode}:\n{log.read_text()}"
        try_main_tasks(log.read_text(), calls)
    finally:
        os.killpg(service.pid, signal.SIGTERM)
        service.wait(timeout=40)


def try_main_tasks(printed: str, calls: str) -> None:
    key = re.search(r"API key +(pets_test_\w+)", printed)[1]
    password = re.search(r"password +(\S+)", printed)[1]

    calls = calls.replace("pets_test_...", key)
    rex, *others = results_of(calls)
    assert others == [[rex], {"available": 1, "pending": 0, "sold": 0}, {"status": "ok"}]
    with httpx.Client(base_url=URL, trust_env=False, timeout=30) as admin:
        log_in(admin, "admin", password)
        form = {"csrfmiddlewaretoken": admin.cookies["csrftoken"], "name": rex["name"], "tag": rex.get("tag") or ""}
        changed = admin.post(f"/admin/pets/pet/{rex['id']}/change/", data=form | {"status": "sold"})
        assert changed.status_code == 302, changed.text
    another, *others = results_of(calls)
    assert others == [[rex, another], {"available": 1, "pending": 0, "sold": 1}, {"status": "ok"}]
    print("The curl lines create and list pets, and the inventory has the staff's change of a status.")


def results_of(calls: str) -> list[Any]:
    """Run curl lines, each of which must print one line of JSON, and return the JSON."""
    assignment, *lines = calls.splitlines()
    output = [
        subprocess.run(
            ["bash", "-c", f"{assignment}\n{line} --silent --show-error --noproxy '*'"], check=True, capture_output=True
        ).stdout
        for line in lines
    ]
    assert [printed.count(b"\n") for printed in output] == [1] * len(output), output
    return [json.loads(printed) for printed in output]


if __name__ == "__main__":
    # SIGTERM ends the service as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    main(Path(sys.argv[1]))
