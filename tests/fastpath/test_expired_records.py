"""Some requests go to Django although they are usual, because Django does work for later requests."""

from pathlib import Path

from django.utils import timezone

from pets import services
from tests.server.connections import Client, post
from tests.service import running_service


def test_expired_records_are_deleted_while_all_idempotency_keys_are_new(tmp_path: Path, migrated_url: str) -> None:
    number = 250  # one of them goes to Django
    with running_service(tmp_path, DATABASE_URL=migrated_url, WEB_CONCURRENCY="1") as service:
        key = service.create_key()
        with Client(service) as client:

            def create(idempotency_key: str) -> None:
                client.send(post(key, b'{"name":"Rex"}', f"Idempotency-Key: {idempotency_key}".encode()))
                assert client.response().status == 201

            create("first")  # goes to Django as well, because the worker has not seen the migrations yet
            expired = timezone.now() - services.IDEMPOTENCY_PERIOD
            service.execute("UPDATE pets_idempotencyrecord SET created_at = %s", expired)
            for one in range(number):
                create(f"new {one}")

        assert service.execute("SELECT count(*) FROM pets_idempotencyrecord WHERE key = 'first'") == [(0,)]
        assert service.execute("SELECT count(*) FROM pets_idempotencyrecord") == [(number,)]
