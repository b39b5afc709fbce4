"""Try the installation and the main tasks as README.md shows them: `python3 -m tests.walkthrough CLONE`.

This runs the run line of README.md in a fresh clone, so that it installs everything, and then the curl lines. In the
admin it changes the status of the created pet. Then it runs the curl lines again, and checks that the inventory has
changed as well. It uses the standard library only, because it runs before the installation.
"""

import http.cookiejar
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from tests.documents import block

URL = "http://127.0.0.1:8000"

opener = urllib.request.build_opener(
    urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
)


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
        wait_for_service(service, log)
        try_main_tasks(log.read_text(), calls)
    finally:
        os.killpg(service.pid, signal.SIGTERM)
        service.wait(timeout=40)


def wait_for_service(service: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if service.poll() is not None:
            sys.exit(f"the run line ended with {service.returncode}:\n{log.read_text()}")
        try:
            opener.open(f"{URL}/v1/health")
            return
        except OSError:
            time.sleep(0.2)  # between two checks of the condition
    sys.exit(f"no response within 300 seconds:\n{log.read_text()}")


def try_main_tasks(printed: str, calls: str) -> None:
    key = re.search(r"API key +(pets_test_\w+)", printed)[1]
    password = re.search(r"password +(\S+)", printed)[1]

    calls = calls.replace("pets_test_...", key)
    rex, *others = results_of(calls)
    expect(others, [[rex], {"available": 1, "pending": 0, "sold": 0}, {"status": "ok"}])
    submit("/admin/login/?next=/admin/", username="admin", password=password)
    texts = {"name": rex["name"], "tag": rex.get("tag") or ""}
    submit(f"/admin/pets/pet/{rex['id']}/change/", status="sold", **texts)
    another, *others = results_of(calls)
    expect(others, [[rex, another], {"available": 1, "pending": 0, "sold": 1}, {"status": "ok"}])
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


def submit(path: str, **fields: str) -> None:
    with opener.open(URL + path) as page:
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.read().decode())[1]
    data = urllib.parse.urlencode({"csrfmiddlewaretoken": token, **fields}).encode()
    with opener.open(URL + path, data) as page:
        if page.url == URL + path:  # the form again instead of the page after it
            sys.exit(f"{path} was not accepted:\n{page.read().decode()}")


def expect(actual: object, expected: object) -> None:
    if actual != expected:
        sys.exit(f"expected {expected!r}\n     got {actual!r}")


if __name__ == "__main__":
    # SIGTERM ends the service as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    main(Path(sys.argv[1]))
