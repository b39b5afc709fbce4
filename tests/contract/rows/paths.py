"""Rows for unknown paths, ids and methods, and for HEAD."""

from tests.contract.rows.row import ODD_TYPES, READ, TYPE, UNKNOWN_ID, WRITE, Row, get, is_ok, key

# Unknown paths.
ROWS = [
    get(f"nothing at {path[:60]!r}, {who} key", path, 404, headers=headers)
    for path in (
        *("/v1", "/v1/", "/v1/nope", "/v1/pets/", "//v1/pets", "/v1//pets", "/V1/pets", "/v1/Pets", "/v2/pets"),
        *("/v1/pets.json", "/v1/pets;x=1", "/v1/pets%2F", "/v1/./pets", "/v1/x/../pets", "/v1/pets/{pet}/"),
        *("/v1/pets/{pet}/owner", "/v1/store", "/v1/store/", "/v1/store/inventory/", "/v1/store/nope", "/v1/health/"),
        *("/v1/docs", "/v1/openapi.json", "/v1/ready", "/health", "/pets", "/v1/%FF", "/ready/", "/docs/", "/docs/x"),
        *("/favicon.ico", "/index.html", "/administration"),
    )
    for who, headers in [("with a", WRITE), ("without a", [])]
]

# It does not delete the session of a page.
ROWS += [get("nothing, with the cookie of a page", "/nowhere", 404, headers=[("Cookie", "sessionid=short")])]

# Unknown ids.
ROWS += [
    get(f"pet {name}", f"/v1/pets/{text}", 404, headers=READ)
    for name, text in [
        ("unknown", UNKNOWN_ID),
        ("in upper case", UNKNOWN_ID.upper()),
        ("without hyphens", UNKNOWN_ID.replace("-", "")),
        ("with a NUL", "{pet}%00"),
        ("with a line feed", "{pet}%0A"),
        ("with a blank", "{pet}%20"),
        ("of Unicode", "%F0%9F%90%95"),
        ("of bytes that are not UTF-8", "%FF%FE"),
    ]
]

# Methods that the contract does not have get 404, with or without a key.
_OPERATIONS = {
    "/v1/pets": ("GET", "HEAD", "POST"),
    "/v1/pets/{pet}": ("GET", "HEAD"),
    f"/v1/pets/{UNKNOWN_ID}": ("GET", "HEAD"),
    "/v1/store/inventory": ("GET", "HEAD"),
    "/v1/health": ("GET", "HEAD"),
    "/ready": ("GET", "HEAD"),
    "/openapi.json": ("GET", "HEAD"),
    "/": ("GET", "HEAD"),
    "/docs": ("GET", "HEAD"),
    "/docs/api": ("GET", "HEAD"),
    "/docs/changelog": ("GET", "HEAD"),
    "/v1/nope": (),
}
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW", "PROPFIND", "M-SEARCH")
ROWS += [
    get(f"{method} {path}, {who} key", path, 404, headers=headers, method=method)
    for path, known in _OPERATIONS.items()
    for method in _METHODS
    if method not in known
    for who, headers in [("with a", WRITE), ("without a", [])]
]
ROWS += [
    # Django responds with 405 and HTML, because its redirect has no such method.
    get("TRACE /admin", "/admin", 404, method="TRACE"),
    Row("POST with a body to a pet", "POST", "/v1/pets/{pet}", [*WRITE, TYPE], b'{"name":"Rex"}', 404),
    Row("method override", "POST", "/v1/pets/{pet}", [*WRITE, ("X-HTTP-Method-Override", "GET")], b"", 404),
]

# The content type of a request without a body changes nothing.
ROWS += [
    get(f"{path}, type {kind!r}", f"{path}?x=1", check=is_ok, headers=[("Content-Type", kind)])
    for path in ("/v1/health", "/ready")
    for kind in ODD_TYPES
]

# HEAD gets the response of GET without the body.
ROWS += [
    get(f"HEAD {target[:40]}, {status}", target, status, headers=headers, method="HEAD")
    for target, status, headers in [
        ("/v1/health", 200, []),
        ("/ready", 200, []),
        ("/v1/pets", 200, WRITE),
        ("/v1/pets?limit=x", 400, WRITE),
        ("/v1/pets/{pet}", 200, WRITE),
        (f"/v1/pets/{UNKNOWN_ID}", 404, WRITE),
        ("/v1/store/inventory", 200, WRITE),
        ("/v1/pets", 403, key("foreign")),
    ]
]
