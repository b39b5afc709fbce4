import json

import pytest

from tests.conftest import Service
from tests.contract.seed import seed
from tests.contract.wires import ClientWire, SocketWire, Wire


@pytest.fixture(scope="session")
def socket_wire(service: Service) -> SocketWire:
    """Over a socket to the shared service."""
    code = "import json; from tests.contract.seed import seed; print(json.dumps(seed()))"
    return SocketWire(json.loads(service.manage("shell", "-v", "0", "-c", code)), service.url)


@pytest.fixture
def client_wire(db: None) -> ClientWire:
    """Through Django's test client."""
    return ClientWire(seed())


@pytest.fixture(params=["client", "socket"])
def wire(request: pytest.FixtureRequest) -> Wire:
    """Both ways, one after the other."""
    wire: Wire = request.getfixturevalue(f"{request.param}_wire")
    return wire
