"""Some requests go to Django although they are usual, because Django does work for later requests."""

from pathlib import Path

from django.utils import timezone

from pets import services
from pets.models import IdempotencyRecord, Pet
from petservice.apikeys.models import APIKey
from tests.server.connections import Client, post
from tests.service import running_service


def test_expired_records_are_deleted_while_all_idempotency_keys_are_new(tmp_path: Path, migrated_url: str) -> None:
    with running_service(tmp_path, DATABASE_URL=migrated_url, WEB_CONCURRENCY="1") as service:
        key = service.create_key()
        with service.models():
            record = {"api_key": APIKey.objects.first(), "name": "Old", "pet_id": Pet.objects.create(name="Old").pk}
            expired = timezone.now() - services.IDEMPOTENCY_PERIOD
            IdempotencyRecord.objects.create(key="old", created_at=expired, **record)
        with Client(service) as client:
            for number in range(200):  # one of a hundred goes to Django
                client.send(post(key, b'{"name":"Rex"}', b"Idempotency-Key: new %d" % number))
                assert client.response().status == 201

        found = service.execute("SELECT count(*) FROM pets_idempotencyrecord WHERE key = 'old'")
        assert found == [(0,)]
        assert service.execute("SELECT count(*) FROM pets_idempotencyrecord") == [(200,)]
