"""The use of API keys under each server: it is written soon, and completely when the server stops."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.databases import migrated_database_url
from tests.service import GUNICORN, SERVE, running_service
from tests.waiting import wait_until

COUNTED = "SELECT sum(requests), sum(client_errors), sum(server_errors) FROM apikeys_keyday"
LAST_USED = "SELECT last_used_at IS NOT NULL, last_used_address FROM apikeys_apikey WHERE prefix = %s"


@pytest.mark.long
@pytest.mark.parametrize("command", [SERVE, GUNICORN["gthread"]], ids=["serve", "gthread"])
def test_use_is_written_soon_and_the_rest_when_the_server_stops(tmp_path: Path, command: tuple[str, ...]) -> None:
    with migrated_database_url(tmp_path) as url:
        with running_service(tmp_path, command=command, DATABASE_URL=url) as service:
            plain = service.create_key()
            with service.client(plain) as client:
                assert client.get("/v1/pets").status_code == 200
                wait_until(lambda: service.execute(COUNTED)[0][0] == 1)

                def send(number: int) -> int:
                    return client.get("/v1/pets", params={"limit": "x"} if number % 4 == 0 else {}).status_code

                with ThreadPoolExecutor(8) as pool:
                    assert [*pool.map(send, range(80))].count(400) == 20
                headers = {"Idempotency-Key": "once"}  # on SQLite, `serve` handles it on a thread
                assert client.post("/v1/pets", json={"name": "Rex"}, headers=headers).status_code == 201

        assert service.execute(COUNTED) == [(82, 20, 0)]
        ((is_used, address),) = service.execute(LAST_USED, plain[:18])
        assert (bool(is_used), str(address)) == (True, "127.0.0.1")
        assert "API keys was not written" not in service.log.read_text()
