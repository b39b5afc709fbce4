"""API keys over the real service: their end is felt at once, and their secret stays where it was shown."""

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

from tests.databases import migrated_database_url
from tests.server.connections import Client
from tests.service import ROOT, TLS, Service, running_service

# Enough, each on a connection of its own, that no worker process is left out.
REQUESTS = 40


def statuses(service: Service, plain: str) -> list[int]:
    """The answers to many requests with a key, each on a new connection."""
    headers = {"X-API-Key": plain, "Connection": "close"}
    with service.client() as client:
        return [client.get("/v1/pets", headers=headers).status_code for _ in range(REQUESTS)]


def test_a_key_works_in_every_worker_from_the_next_request_on(service: Service) -> None:
    assert statuses(service, service.create_key()) == [200] * REQUESTS


def test_a_revoked_key_is_refused_from_the_next_request_on_in_every_worker(service: Service) -> None:
    plain = service.create_key()
    assert statuses(service, plain) == [200] * REQUESTS

    service.manage("revoke_api_key", plain[:18])

    assert statuses(service, plain) == [401] * REQUESTS


def test_an_expired_key_is_refused_from_the_next_request_on_in_every_worker(service: Service) -> None:
    plain = service.create_key()
    assert statuses(service, plain) == [200] * REQUESTS

    service.execute("UPDATE apikeys_apikey SET expires_at = %s WHERE prefix = %s", timezone.now(), plain[:18])

    assert statuses(service, plain) == [401] * REQUESTS


class BackOffice:
    """A member of staff in the admin of a running service, and all that was answered to them."""

    def __init__(self, service: Service) -> None:
        self.answers: list[httpx.Response] = []
        self.cookies: list[str] = []
        self._client = httpx.Client(
            base_url=service.url, follow_redirects=True, timeout=30, trust_env=False, verify=TLS
        )

    def get(self, path: str) -> str:
        return self._keep(self._client.get(path))

    def submit(self, path: str, **fields: str) -> str:
        """Open the form at `path`, fill it in, send it."""
        hidden = dict(re.findall(r'<input type="hidden" name="([\w-]+)" value="([^"]*)"', self.get(path)))
        assert "csrfmiddlewaretoken" in hidden, path
        return self._keep(self._client.post(path, data=hidden | fields))

    def _keep(self, response: httpx.Response) -> str:
        assert response.status_code == 200, response.text
        self.answers += [*response.history, response]
        self.cookies += [cookie.value or "" for cookie in self._client.cookies.jar]
        return response.text

    def close(self) -> None:
        self._client.close()


def dump(service: Service) -> str:
    """All rows of all tables of its database."""
    with service.database() as database:
        names = "SELECT name FROM sqlite_master WHERE type = 'table'"
        if connection.vendor == "postgresql":
            names = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        tables = [name for (name,) in database.execute(names).fetchall()]
        return "\n".join(f"TABLE {name}\n{database.execute(f'SELECT * FROM {name}').fetchall()}" for name in tables)


def shown_key(page: str) -> str:
    """The one key that a page shows."""
    (plain,) = set(re.findall(r"pets_(?:test|live)_[0-9A-Za-z]{49}", page))
    return plain


def unpacked(signed: str) -> str:
    """What a session, a cookie or a message says beneath Django's signature, base64 and compression."""
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
def talkative(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Logs whatever it can."""
    folder = tmp_path_factory.mktemp("talkative")
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
def test_a_key_in_malformed_http_is_not_logged(talkative: Service, line: str) -> None:
    plain = talkative.create_key()
    sent = f"GET /v1/pets?key={plain} HTTP/1.1\r\nHost: localhost\r\n{line.format(key=plain)}\r\n\r\n"

    for request in (sent, line.format(key=plain) + " is no HTTP\r\n\r\n", sent.replace("HTTP/1.1", f"HTTP/{plain}")):
        with Client(talkative) as client:
            client.send(request.encode())
            assert client.answer().status >= 400

    assert "A request was refused" in talkative.log.read_text()
    assert plain[18:26] not in talkative.log.read_text()


def test_a_plain_key_is_found_nowhere_after_a_whole_life(own_service: Service, tmp_path: Path) -> None:
    service = own_service
    service.create_staff("ada", "correct horse")
    staff = BackOffice(service)
    staff.submit("/admin/login/?next=/admin/", username="ada", password="correct horse")

    # Created by staff and by command, each shown once.
    expires = timezone.now().replace(year=timezone.now().year + 1)
    writer = shown_key(
        staff.submit(
            "/admin/apikeys/apikey/add/",
            name="Web shop",
            environment="test",
            access="write",
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
        for number, answer in enumerate(staff.answers)
        for plain in (writer, reader)
        if plain in answer.text
    }
    assert len(pages) == 2

    # Used, also where it may not be, and mistakenly.
    sent: list[httpx.Response] = []
    for plain, created in ((writer, 201), (reader, 403), (imported, 201), (writer[:-1], 401)):
        with service.client(plain) as client:
            sent.append(client.post("/v1/pets", json={"name": "Rex"}, headers={"Idempotency-Key": "once"}))
            assert sent[-1].status_code == created
            sent += [client.get(path) for path in ("/v1/pets", "/v1/store/inventory", "/v1/pets/none", "/v1/none")]
            sent += [client.post("/v1/pets", content=b"{"), client.get("/v1/pets", params={"limit": "none"})]

    # Looked for, changed, rotated and revoked by staff.
    key_pages = {}
    for name, plain in (("Web shop", writer), ("Report", reader)):
        found = staff.get(f"/admin/apikeys/apikey/?q={plain[:18]}")
        key_pages[name] = re.search(r"/admin/apikeys/apikey/(\d+)/change/", found)[0]
    staff.submit(key_pages["Report"], name="Reports", expires_at_0="", expires_at_1="")
    successor = shown_key(staff.submit(key_pages["Web shop"].replace("change", "rotate"), overlap="24"))
    staff.submit(key_pages["Web shop"].replace("change", "revoke"))
    service.manage("revoke_api_key", successor)
    for path in (
        "/admin/",
        "/admin/apikeys/apikey/",
        key_pages["Web shop"],
        key_pages["Web shop"].replace("change", "history"),
    ):
        staff.get(path)
    for plain, status in ((writer, 401), (successor, 401), (reader, 200)):
        with service.client(plain) as client:
            sent.append(client.get("/v1/pets"))
            assert sent[-1].status_code == status

    # Nowhere.
    staff.close()
    tables = dump(service)
    for table in ("apikeys_apikey", "django_session", "django_admin_log", "pets_idempotencyrecord"):
        assert f"TABLE {table}\n" in tables
    assert "Web shop" in tables
    places = {
        "tables": tables,
        "sessions": "\n".join(unpacked(value) for value in re.findall(r"'([^']*:[^']*:[^']*)'", tables)),
        "log": service.log.read_text(),
        "standard error": by_command.stderr,
        "cookies": "\n".join([*staff.cookies, *map(unpacked, staff.cookies)]),
        "addresses": "\n".join(str(answer.url) for answer in staff.answers + sent),
        "headers": "\n".join(str(answer.headers.multi_items()) for answer in staff.answers + sent),
        "answers to the client": "\n".join(answer.text for answer in sent),
        "files": "\n".join(path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()),
    }
    assert "_auth_user_id" in places["sessions"], "sessions are read"
    for plain in (writer, reader, imported, successor):
        for place, content in places.items():
            assert plain[18:] not in content, f"a secret in {place}"
        assert sum(plain[18:] in answer.text for answer in staff.answers) == (plain != imported), "shown once"
