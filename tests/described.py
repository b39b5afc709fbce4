"""Compare responses of the API with the OpenAPI document."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from openapi_core import OpenAPI
from openapi_core.exceptions import OpenAPIError
from openapi_core.templating.paths.exceptions import PathError
from openapi_core.testing import MockRequest, MockResponse

DOCUMENT = Path(__file__).parent / "contract" / "openapi.json"
_OPENAPI = OpenAPI.from_dict(json.loads(DOCUMENT.read_text()))


def assert_described(method: str, path: str, status: int, headers: Mapping[str, str], body: bytes) -> None:
    """Fail unless the OpenAPI document describes the status, the headers and the body of this response.

    A path or method that the document does not describe must get an error response with the error envelope.
    """
    if method == "HEAD" or not path.startswith("/v1/"):
        return
    # openapi-core would take "/v1/./pets" for "/v1/pets", which is another path.
    path = re.sub(r"/\.*(?=/)", "/nothing", path)
    request = MockRequest("http://localhost", method.lower(), path)
    response = MockResponse(
        body, status_code=status, headers=dict(headers), content_type=headers.get("Content-Type", "none")
    )
    try:
        _OPENAPI.validate_response(request, response)
    except PathError:
        assert status >= 400, f"{method} {path} is not in the document, but the response has status {status}"
        assert set(json.loads(body)["error"]) == {"code", "message"}
    except OpenAPIError as error:
        raise AssertionError(f"{method} {path}: {status} {body[:500]!r} is not as described: {error}") from error
