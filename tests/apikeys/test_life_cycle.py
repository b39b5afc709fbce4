"""The life cycle of API keys in a real service: changes hold immediately, and secrets are not stored or logged."""

import base64
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from django.db import connection
from django.utils import timezone

from tests.apikeys.forms import shown_key
from tests.databases import migrated_database_url
from tests.server.connections import Client
from tests.service import ROOT, TLS, Service, running_service

# So many requests on separate connections reach every worker process.
REQUESTS = 40


def statuses(service: Service, plain: str) -> list[int]:
    """Send many requests with a key, each on a new connection, and return their statuses."""
    headers = {"X-API-Key": plain, "Connection": "close"}
    with service.client() as client:
        return [client.get("/v1/pets", headers=headers).status_code for _ in range(REQUESTS)]


@pytest.mark.parametrize("field", ["revoked_at", "expires_at"])
def test_a_new_key_works_and_an_ended_one_is_rejected_immediately_in_every_worker(service: Service, field: str) -> None:
    plain = service.create_key()
    assert statuses(service, plain) == [200] * REQUESTS

    service.execute(f"UPDATE apikeys_apikey SET {field} = %s WHERE prefix = %s", timezone.now(), plain[:18])

    assert statuses(service, plain) == [401] * REQUESTS


class StaffSession:
    """A staff session in the admin of a running service, which keeps all responses."""

    def __init__(self, service: Service) -> None:
        self.responses: list[httpx.Response] = []
        self.cookies: list[str] = []
        self._client = httpx.Client(
            base_url=service.url, follow_redirects=True, timeout=30, trust_env=False, verify=TLS
        )

    def get(self, path: str) -> httpx.Response:
        return self._keep(self._client.get(path))

    def submit(self, path: str, **fields: str) -> httpx.Response:
        """Open the form at a path, fill it in and send it."""
        hidden = dict(re.findall(r'<input type="hidden" name="([\w-]+)" value="([^"]*)"', self.get(path).text))
        assert "csrfmiddlewaretoken" in hidden, path
        return self._keep(self._client.post(path, data=hidden | fields))

    def _keep(self, response: httpx.Response) -> httpx.Response:
        assert response.status_code == 200, response.text
        self.responses += [*response.history, response]
        self.cookies += [cookie.value or "" for cookie in self._client.cookies.jar]
        return response

    def close(self) -> None:
        self._client.close()


def dump(service: Service) -> str:
    """Return all rows of all tables of the database."""
    with service.database() as database:
        # The full-text index has no copy of the texts that could be read.
        names = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL TABLE%'"
        if connection.vendor == "postgresql":
            names = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        tables = [name for (name,) in database.execute(names).fetchall()]
        return "\n".join(f"TABLE {name}\n{database.execute(f'SELECT * FROM {name}').fetchall()}" for name in tables)


def decoded(signed: str) -> str:
    """Return the content of a signed, encoded and compressed session, cookie or message."""
    packed = signed.strip('"').split(":")[0]
    try:
        content = base64.urlsafe_b64decode(packed.removeprefix(".") + "=" * (-len(packed.removeprefix(".")) % 4))
        return (zlib.decompress(content) if packed.startswith(".") else content).decode()
    except (ValueError, zlib.error):
        return signed


@pytest.fixture
def own_service(tmp_path: Path) -> Iterator[Service]:
    with migrated_database_url(tmp_path) as url, running_service(tmp_path, DATABASE_URL=url) as running:
        yield running


@pytest.fixture(scope="module")
def debug_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with the log level debug."""
    folder = tmp_path_factory.mktemp("debug_service")
    variables = {"GUNICORN_CMD_ARGS": "--log-level debug"}
    with migrated_database_url(folder) as url, running_service(folder, DATABASE_URL=url, **variables) as running:
        yield running


@pytest.mark.once
@pytest.mark.parametrize(
    "line",
    [
        "X-API-Key {key}",
        "X-API-Key{key}",
        "{key}",
        "X-API-Key: x\r\n {key}",
        "{key} : x",
        "Host: {key}",
        "Expect: {key}",
    ],
)
def test_a_key_in_malformed_http_is_not_logged(debug_service: Service, line: str) -> None:
    plain = debug_service.create_key()
    sent = f"GET /v1/pets?key={plain} HTTP/1.1\r\nHost: localhost\r\n{line.format(key=plain)}\r\n\r\n"

    for request in (sent, line.format(key=plain) + " is no HTTP\r\n\r\n", sent.replace("HTTP/1.1", f"HTTP/{plain}")):
        with Client(debug_service) as client:
            client.send(request.encode())
            assert client.response().status >= 400

    assert " was refused: " in debug_service.log.read_text()
    assert plain[18:26] not in debug_service.log.read_text()


@pytest.mark.once(on="postgresql")
@pytest.mark.long
def test_no_plain_key_is_stored_or_logged_in_its_whole_life_cycle(own_service: Service, tmp_path: Path) -> None:
    service = own_service
    service.create_staff("ada", "correct horse")
    staff = StaffSession(service)
    staff.submit("/admin/login/?next=/admin/", username="ada", password="correct horse")

    # Staff and the command create keys, and each key is shown once.
    expires = timezone.now().replace(year=timezone.now().year + 1)
    writer = shown_key(
        staff.submit(
            "/admin/apikeys/apikey/add/",
            name="Web shop",
            environment="test",
            access="write",
            lifetime="own",
            expires_at_0=expires.strftime("%Y-%m-%d"),
            expires_at_1="12:00:00",
        )
    )
    reader = shown_key(
        staff.submit(
            "/admin/apikeys/apikey/add/",
            name="Report",
            environment="test",
            access="read",
            lifetime="never",
            expires_at_0="",
            expires_at_1="",
        )
    )
    by_command = subprocess.run(
        [sys.executable, "manage.py", "create_api_key", "Import"],
        cwd=ROOT,
        env=service.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    imported = by_command.stdout.strip()
    pages = {
        plain: number
        for number, response in enumerate(staff.responses)
        for plain in (writer, reader)
        if plain in response.text
    }
    assert len(pages) == 2

    # Clients use the keys, also for forbidden and invalid requests.
    sent: list[httpx.Response] = []
    for plain, created in ((writer, 201), (reader, 403), (imported, 201), (writer[:-1], 401)):
        with service.client(plain) as client:
            sent.append(client.post("/v1/pets", json={"name": "Rex"}, headers={"Idempotency-Key": "once"}))
            assert sent[-1].status_code == created
            sent += [client.get(path) for path in ("/v1/pets", "/v1/store/inventory", "/v1/pets/none", "/v1/none")]
            sent += [client.post("/v1/pets", content=b"{"), client.get("/v1/pets", params={"limit": "none"})]

    # Staff find, change, rotate and revoke the keys.
    key_pages = {}
    for name, plain in (("Web shop", writer), ("Report", reader)):
        found = staff.get(f"/admin/apikeys/apikey/?q={plain[:18]}")
        key_pages[name] = re.search(r"/admin/apikeys/apikey/(\d+)/change/", found.text)[0]
    staff.submit(key_pages["Report"], name="Reports", expires_at_0="", expires_at_1="")
    replacement = shown_key(
        staff.submit(key_pages["Web shop"].replace("change", "rotate"), grace_period="24", lifetime="never")
    )
    staff.submit(key_pages["Web shop"].replace("change", "revoke"))
    service.manage("revoke_api_key", replacement)
    for path in (
        "/admin/",
        "/admin/apikeys/apikey/",
        key_pages["Web shop"],
        key_pages["Web shop"].replace("change", "history"),
    ):
        staff.get(path)
    for plain, status in ((writer, 401), (replacement, 401), (reader, 200)):
        with service.client(plain) as client:
            sent.append(client.get("/v1/pets"))
            assert sent[-1].status_code == status

    # The secrets are in none of these places.
    staff.close()
    tables = dump(service)
    for table in ("apikeys_apikey", "django_session", "django_admin_log", "pets_idempotencyrecord"):
        assert f"TABLE {table}\n" in tables
    assert "Web shop" in tables
    places = {
        "tables": tables,
        "sessions": "\n".join(decoded(value) for value in re.findall(r"'([^']*:[^']*:[^']*)'", tables)),
        "log": service.log.read_text(),
        "standard error": by_command.stderr,
        "cookies": "\n".join([*staff.cookies, *map(decoded, staff.cookies)]),
        "addresses": "\n".join(str(response.url) for response in staff.responses + sent),
        "headers": "\n".join(str(response.headers.multi_items()) for response in staff.responses + sent),
        "responses to the client": "\n".join(response.text for response in sent),
        "files": "\n".join(path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()),
    }
    assert "_auth_user_id" in places["sessions"], "sessions are not decoded"
    for plain in (writer, reader, imported, replacement):
        for place, content in places.items():
            assert plain[18:] not in content, f"a secret is in {place}"
        assert sum(plain[18:] in response.text for response in staff.responses) == (plain != imported), (
            "a key is not shown exactly once"
        )
