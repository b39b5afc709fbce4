"""The cache keeps only responses that are the same for all clients."""

from contextlib import closing

import pytest
from petservice.server.public_responses import PublicResponses

from petservice.handler import Handler
from petservice.server.messages import Response
from tests.server.connections import request_of

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("response", "is_kept"),
    [
        ((200, [(b"ETag", b"1")], b"page"), True),
        ((200, [(b"Set-Cookie", b"sessionid=1")], b"page of ada"), False),
        ((200, [(b"Vary", b"Cookie")], b"page of ada"), False),
        ((302, [(b"Location", b"/elsewhere")], b""), False),
        ((500, [], b"error"), False),
    ],
    ids=["the same for all", "sets a cookie", "depends on a cookie", "redirect", "failure"],
)
@pytest.mark.parametrize("path", ["/", "/openapi.json", "/static/admin/css/base.css"])
def test_only_a_successful_response_without_cookies_is_kept(path: str, response: Response, is_kept: bool) -> None:
    public = PublicResponses(Handler())
    with closing(request_of(path)) as request:
        request.resolver_match = None
        key = public.key_of(request)
        assert key is not None

        public.keep(key, request, response)

        kept = public.get(key, request)
    assert (kept is not None) == is_kept
    assert kept is None or kept[2] == b"page"
