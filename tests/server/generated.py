"""Hypothesis strategies for raw requests to every URL of the service: plausible ones, and random bytes.

Malformed lines, chunks and trailers are in the corpus of request smuggling (tests.server.smuggling).
"""

import re
from pathlib import Path
from urllib.parse import quote_from_bytes

import axes
import django.http
import django.middleware
import django.utils.cache
import rest_framework
import whitenoise
from django.contrib.admindocs.views import extract_views_from_urlpatterns, simplify_regex
from django.urls import get_resolver
from hypothesis import strategies as st

from tests.service import ROOT

PET_ID = b"01890a5d-ac96-774b-bcce-b302099a8057"

# Every URL pattern of the service, with its parameters as <name>.
ROUTES = [
    simplify_regex(regex).encode() for _, regex, *_ in extract_views_from_urlpatterns(get_resolver().url_patterns)
]
ADMIN_ROUTES = [route for route in ROUTES if route.startswith(b"/admin/")]
OTHER_ROUTES = [route for route in ROUTES if route not in ADMIN_ROUTES]
OTHER_PATHS = [b"/static/", b"/static/backoffice/admin.css", b"/static/../", b"/v1/", b"/nowhere", b"*", b""]


def _headers_in_sources() -> list[bytes]:
    """Return the names of the headers that the service or its libraries read from META."""
    libraries = [django.middleware, django.http, rest_framework, axes, whitenoise]
    folders = [Path(library.__path__[0]) for library in libraries]
    folders += [ROOT / name for name in ("petservice", "pets", "store")]
    files = [Path(django.utils.cache.__file__), *(file for folder in folders for file in folder.rglob("*.py"))]
    names = {name for file in files for name in re.findall(r"[\"']HTTP_([A-Z_]+)[\"']", file.read_text())}
    return sorted(name.replace("_", "-").title().encode() for name in names)


HEADERS = [
    *_headers_in_sources(),
    # Headers that are read from other places than META, under other names, or by gunicorn.
    *(b"Accept-Language", b"Authorization", b"Connection", b"Content-Encoding", b"Cookie", b"Forwarded"),
    *(b"HTTP2-Settings", b"Keep-Alive", b"Script-Name", b"SCRIPT_NAME", b"Sec-WebSocket-Key", b"TE", b"Trailer"),
    *(b"Upgrade", b"X-CSRFToken", b"X-Forwarded-Proto", b"X-Forwarded-Protocol", b"X-Forwarded-Ssl", b"X_API_Key"),
]
# Query parameters of the API and of the public pages, then those of the admin, and the fields of its forms.
PARAMETERS = [b"lang", b"version", b"format", b"script", b"limit", b"after", b"next"]
ADMIN_PARAMETERS = [
    *(b"q", b"p", b"o", b"all", b"e", b"status", b"status__exact", b"tag", b"created_from", b"sold_to", b"creator"),
    *(b"access__exact", b"environment__exact", b"state", b"use", b"_popup", b"_to_field"),
    *(b"_changelist_filters", b"id__in", b"action", b"record_type", b"person", b"kind", b"day_from", b"kept_form"),
    *(b"_selected_action", b"select_across", b"index", b"post", b"username", b"password", b"old_password"),
    *(b"new_password1", b"new_password2", b"name", b"_save", b"_continue", b"access", b"environment", b"form_token"),
    *(b"expires_at", b"grace_period", b"requests_per_minute", b"file", b"upload", b"selection", b"next"),
]
# Half of the parameters belong to the API and the public pages. Otherwise the many of the admin would outnumber them.
PARAMETER = st.sampled_from(PARAMETERS) | st.sampled_from(ADMIN_PARAMETERS)
# Valid values of headers and parameters, so that requests pass more than the first check.
VALUES = [
    *(b"chunked", b"gzip, chunked", b"identity", b"100-continue", b"keep-alive", b"close", b"Upgrade, HTTP2-Settings"),
    *(b"h2c", b"websocket", b"https", b"on", b"ssl", b"localhost", b"localhost:99999", b"[::1]", b"127.0.0.1, ::1"),
    *(b"application/json", b"application/json; charset=utf-16", b"multipart/form-data; boundary=x", b"text/csv"),
    *(b"application/x-www-form-urlencoded", b"application/x-www-form-urlencoded; charset=utf-7"),
    *(b"multipart/form-data", b"bytes=0-5", b"bytes=9-1,-3,", b"gzip;q=1.5", b"de;q=x, *", b"text/html", b'"x", W/"y"'),
    *(b"Tue, 24 Nov 2026 06:00:00 GMT", b"Tue, 99 Foo 0000 99:99:99 GMT", b"sessionid=x; csrftoken", b"XMLHttpRequest"),
    *(b"-1", b"0", b"1", b"5", b"9" * 400, b"99999-99-99", b"2026-01-01", b"true", b"null", b"available", b"1,2", b"-"),
    *(b"json", b"delete_selected", b"pets", b"pet", b"tag", b"id", PET_ID, PET_ID[:-1], b"x" * 255, b"x" * 5000),
]
JUNK = st.binary(max_size=12) | st.sampled_from(
    [
        *(b"%00", b"%", b"%ff", b"%zz", b"\xff", b"\0", b"%0a", b"%2f", b"%u0041", b"..", b"//", b"/", b"\\", b";"),
        *(b"[", b"]", b"(", b"{", b"'", b'"', b"`", b"#", b"?", b"&", b"@", b":", b"\t", b"\x7f"),
        *(b"\xe2\x80\xa8", b"\xed\xa0\x80", b"\xc3\xa4"),
    ]
)
LINE = JUNK.map(lambda text: text.replace(b"\r", b"").replace(b"\n", b""))
WORD = LINE.map(lambda text: text.replace(b" ", b"+"))
VALUE = st.sampled_from(VALUES) | st.sampled_from(VALUES) | LINE
# Only an escaped value can have line breaks.
ESCAPED = (VALUE | st.sampled_from([b"\n", b"a\nb", b"1\n"])).map(quote_from_bytes).map(str.encode)

QUERY = st.lists(st.tuples(PARAMETER, ESCAPED), max_size=4).map(
    lambda pairs: b"&".join(b"=".join(pair) for pair in pairs)
)
PATH = st.builds(
    lambda route, value: re.sub(b"<[^>]*>", lambda _: value, route),
    st.sampled_from(OTHER_ROUTES) | st.sampled_from(ADMIN_ROUTES) | st.sampled_from(OTHER_PATHS),
    st.sampled_from([b"1", PET_ID]) | ESCAPED,
)
# Prefixes that make a path a URL or a host.
ORIGIN = st.sampled_from(
    [b"http://localhost", b"https://[::1]:1", b"http://[", b"http://[v]", b"//", b"a:80", b"http:"]
)
METHODS = [*[b"GET", b"POST"] * 4, b"HEAD", b"PUT", b"DELETE"]
OTHER_METHODS = st.sampled_from([b"OPTIONS", b"PATCH", b"TRACE", b"CONNECT", b"PRI", b"get"]) | WORD
CONTENT_TYPES = [b"application/json", b"application/x-www-form-urlencoded", b"multipart/form-data; boundary=x"]
PART = b'--x\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n--x--'
MULTIPART = st.builds(
    lambda name, more, content: PART % (name, more, content),
    PARAMETER,
    st.sampled_from([b"", b'; filename="pets.csv"', b'; filename="\0"', b"\r\nContent-Transfer-Encoding: base64"])
    | LINE,
    st.sampled_from([b"name,tag\nRex,dog\n", b"id,name\n\0,\xff\n", b'{"name": "Rex"}\n']) | VALUE,
)
JSON = st.sampled_from(
    [b"{}", b'{"name": "Rex"}', b'{"name": "\\u0000"}', b"[" * 999, b'{"name": "\\ud800"}', b"1e999"]
)
BODY = st.just(b"") | JSON | QUERY | MULTIPART | st.binary(max_size=40)
# The part of a request that is malformed. It is one part, because the first of several would hide the others.
ODD_PARTS = ["method", "origin", "path", "header", "value", "host", "everything", *["nothing"] * 12]


@st.composite
def requests(draw: st.DrawFn, credentials: list[bytes]) -> bytes:
    """Draw a request with a header line that is one of `credentials`."""
    odd = draw(st.sampled_from(ODD_PARTS))
    if odd == "everything":
        return draw(st.binary(min_size=1, max_size=100)) + b"\r\n\r\n"

    def part(name: str, usual: bytes, otherwise: st.SearchStrategy[bytes]) -> bytes:
        return draw(otherwise) if odd == name else usual

    target = part("origin", b"", ORIGIN) + draw(PATH) + part("path", b"", WORD)
    query = draw(QUERY)
    method = part("method", draw(st.sampled_from(METHODS)), OTHER_METHODS)
    headers = dict(draw(st.lists(st.tuples(st.sampled_from(HEADERS), st.sampled_from(VALUES)), max_size=3)))
    if odd in ("header", "value"):
        name = draw(st.sampled_from(HEADERS))
        headers[part("header", name, LINE)] = part("value", b"x", LINE)
    headers.setdefault(b"Host", part("host", b"localhost", LINE))
    headers.setdefault(b"Content-Type", draw(st.sampled_from(CONTENT_TYPES)))
    body = draw(BODY)
    if b"Content-Length" in headers or draw(st.booleans()):
        headers.setdefault(b"Content-Length", b"%d" % len(body))
    elif b"Transfer-Encoding" not in headers:
        headers[b"Transfer-Encoding"] = b"chunked"
        body = (b"%x\r\n%s\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n"
    lines = [b"%s %s HTTP/1.1" % (method, target + (b"?" + query if query else b""))]
    lines += [name + b": " + value for name, value in headers.items()]
    return b"\r\n".join([*lines, draw(st.sampled_from(credentials)), b"", body])
