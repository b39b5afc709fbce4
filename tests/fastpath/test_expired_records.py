"""Some requests go to Django although they are usual, because Django does work for later requests."""

from django.utils import timezone

from pets import services
from tests.server.connections import Client, post
from tests.service import Service

NUMBER = 250  # one of so many goes to Django


def test_expired_records_are_deleted_while_all_idempotency_keys_are_new(service: Service, service_key: str) -> None:
    with Client(service) as client:

        def create(idempotency_key: str) -> None:
            client.send(post(service_key, b'{"name":"Rex"}', f"Idempotency-Key: {idempotency_key}".encode()))
            assert client.response().status == 201

        create("expired")
        then = timezone.now() - services.IDEMPOTENCY_PERIOD
        service.execute("UPDATE pets_idempotencyrecord SET created_at = %s WHERE key = 'expired'", then)
        for number in range(NUMBER):
            create(f"unexpired {number}")

    records = "SELECT count(*) FROM pets_idempotencyrecord WHERE key LIKE %s"
    assert service.execute(records, "expired%") == [(0,)]
    assert service.execute(records, "unexpired%") == [(NUMBER,)]
