from collections.abc import Iterator

import pytest

from tests.databases import migrated_database_url
from tests.monitoring.observed import Observed
from tests.server.services import clear, service_with_test_endpoints
from tests.service import free_port


@pytest.fixture(scope="session")
def running_one_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    """A service with one worker and the endpoints for tests, whose Redis cannot be reached."""
    folder, metrics = tmp_path_factory.mktemp("endpoints"), f"127.0.0.1:{free_port()}"
    with migrated_database_url(folder) as url:
        variables = {
            "DATABASE_URL": url,
            "METRICS_BIND": metrics,
            "PETSERVICE_LOG_FORMAT": "json",
            "REDIS_URL": f"redis://127.0.0.1:{free_port()}",
            "TEST_MEASUREMENT_INTERVAL": "1.5",
        }
        with service_with_test_endpoints(folder, **variables) as service:
            service.create_staff("ada", "a long password")
            yield Observed(service, service.create_key(), f"http://{metrics}/metrics")


@pytest.fixture
def one_worker(running_one_worker: Observed) -> Observed:
    """A service with the endpoints for tests, without the files of earlier tests."""
    clear(running_one_worker.service.log.parent)
    return running_one_worker
