from collections.abc import Iterator

import pytest

from tests.monitoring.observed import Observed
from tests.server.services import service_with_test_endpoints


@pytest.fixture(scope="module")
def with_test_endpoints(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    folder = tmp_path_factory.mktemp("endpoints")
    with service_with_test_endpoints(folder, PETSERVICE_LOG_FORMAT="json") as service:
        yield Observed(service, "", "")
