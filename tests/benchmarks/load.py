"""Generate load on the service with wrk."""

from tests.benchmarks.databases import Seeded
from tests.benchmarks.wrk import Responses, Wrk
from tests.service import Service

CONNECTIONS = 16
_POST = """
wrk.method = "POST"
wrk.body = '{"name": "Rex", "tag": "dog"}'
wrk.headers["Content-Type"] = "application/json"
"""


def load(service: Service, seeded: Seeded, operation: str, seconds: int, pause: int = 0) -> Responses:
    """Send requests over CONNECTIONS connections, and return the measurement. All requests must succeed.

    Between a response and its next request, a client pauses for a random time with a mean of `pause` milliseconds.
    """
    script = _POST if operation == "post" else ""
    if pause:
        script += f"function delay() return math.random(0, {2 * pause}) end"
    url, headers = service.url + seeded.paths()[operation], [f"X-API-Key: {seeded.key}"]
    wrk = Wrk(url, headers, script, folder=seeded.folder, connections=CONNECTIONS, seconds=seconds)
    seen = wrk.responses()
    assert not seen.failed, f"not all responses of {url} are 2xx"
    return seen
