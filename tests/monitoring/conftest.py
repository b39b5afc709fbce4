from collections.abc import Iterator

import pytest

from tests.monitoring.observed import Observed, observed_service
from tests.server.services import service_with_test_endpoints


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    with observed_service(tmp_path_factory.mktemp("observed")) as observed:
        yield observed


@pytest.fixture(scope="module")
def with_test_endpoints(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    folder = tmp_path_factory.mktemp("endpoints")
    with service_with_test_endpoints(folder, PETSERVICE_LOG_FORMAT="json") as service:
        yield Observed(service, "", "")
