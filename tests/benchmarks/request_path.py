"""`python -m tests.benchmarks.request_path` prints the files of this service that a request enters, in their order.

For two requests the program prints each file and the functions that are called in it. Then it prints the number of
files and the number of changes from one file to another, with and without the files of `petservice/db`. The request is
an ASGI call of the server's application on a new SQLite database. The parsing of HTTP and the thread of the group
commit are not part of it.
"""

import asyncio
import json
import os
import sys
import tempfile
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCES = tuple(f"{ROOT}/{package}/" for package in ("petservice", "pets", "store"))
DATABASE = "petservice/db/"
BODY = b'{"name": "Rex", "tag": "dog"}'

# The path of a file below the root, and the name of a function in it.
Step = tuple[str, str]


class Tracer:
    """A recorder of the functions of this service that are called."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def __call__(self, frame: Any, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(SOURCES):
            self.steps.append((file.removeprefix(f"{ROOT}/"), frame.f_code.co_name))


async def respond(application: Any, key: str, method: str, path: str) -> bytes:
    """Call the application with a request and return the body of its response."""
    body = BODY if method == "POST" else b""
    sent: list[dict[str, Any]] = []
    headers = [(b"host", b"127.0.0.1:8000"), (b"x-api-key", key.encode())]
    if body:
        headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    scope = {
        **{"type": "http", "method": method, "scheme": "http", "raw_path": path.encode(), "query_string": b""},
        **{"root_path": "", "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 40000), "headers": headers},
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await application(scope, receive, send)
    assert sent[0]["status"] < 300, sent
    return bytes(sent[1]["body"])


def show(title: str, steps: list[Step]) -> None:
    """Print the files and functions of a request, and how many files and changes there are."""
    print(f"\n{title}")
    for file, calls in groupby(steps, key=lambda step: step[0]):
        print(f"    {file}: {', '.join(function for _, function in calls)}")
    files = [file for file, _ in steps]
    for label, counted in (
        ("all files", files),
        ("without the database backend", [file for file in files if not file.startswith(DATABASE)]),
    ):
        changes = sum(one != other for one, other in pairwise(counted))
        print(f"  {label}: {len(set(counted))} files, {changes} changes of file")


async def main() -> None:
    """Trace one GET and one POST after a few of each, which compile their statements."""
    from petservice.apikeys.models import APIKey
    from petservice.server.asgi import application

    _, key = await asyncio.to_thread(APIKey.objects.create_key, name="Request path")
    pet = json.loads(await respond(application, key, "POST", "/v1/pets"))
    for method, path in (("GET", f"/v1/pets/{pet['id']}"), ("POST", "/v1/pets")):
        await respond(application, key, method, path)
        tracer = Tracer()
        sys.setprofile(tracer)
        try:
            await respond(application, key, method, path)
        finally:
            sys.setprofile(None)
        show(f"{method} {path}", tracer.steps)
    application.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "petservice.settings",
            "PETSERVICE_DATA_DIR": folder,
            "DATABASE_URL": f"sqlite:///{folder}/pets.sqlite3",
        }
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        asyncio.run(main())
