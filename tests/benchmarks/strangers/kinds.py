"""The kinds of request that need no key and no session, and those of clients with a key, for comparison."""

from typing import NamedTuple

from petservice.apikeys import keys
from tests.service import Service

# The service trusts loopback clients as proxies, so these clients can claim any client address.
ANY_ADDRESS = (
    'wrk.headers["X-Forwarded-For"] = math.random(1, 223) .. ".0." .. math.random(0, 255) .. "." .. math.random(1, 254)'
)


class Kind(NamedTuple):
    """A kind of request or connection.

    `script` is Lua for wrk: statements before the first request, or a function that makes each request. A kind without
    a `path` only opens connections.
    """

    name: str
    path: str = ""
    headers: tuple[str, ...] = ()
    script: str = ""

    @property
    def needs_tls(self) -> bool:
        return self.name.startswith("TLS")


def kinds(service: Service) -> list[Kind]:
    """Return all kinds, for a running service."""
    unknown = keys.generate("test")
    return [
        Kind("home page", "/"),
        Kind("documentation", "/docs"),
        Kind("OpenAPI document", "/openapi.json"),
        Kind("static file, 0.2 KiB", "/static/guides/docs.css"),
        Kind("static file, 1.5 MiB", "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"),
        Kind("login page", "/admin/login/"),
        Kind("login, wrong password", "/admin/login/", script=_login_script(service)),
        Kind("page without a session", "/admin/pets/pet/"),
        Kind("page, invented session", "/admin/pets/pet/", (f"Cookie: sessionid={'x' * 32}",)),
        Kind("/ready", "/ready"),
        Kind("/v1/health", "/v1/health"),
        Kind("unknown path", "/nowhere"),
        Kind("unknown path of the API", "/v1/nowhere"),
        Kind("no key", "/v1/pets"),
        Kind("valid key", "/v1/pets?limit=1", (f"X-API-Key: {service.create_key()}",)),
        Kind("malformed key", "/v1/pets", ("X-API-Key: pets_test_guess",)),
        Kind("unknown key", "/v1/pets", (f"X-API-Key: {unknown}",)),
        Kind("TLS handshake"),
        Kind("silent connection"),
        Kind("connection opened and closed"),
    ]


def _login_script(service: Service) -> str:
    """Return Lua for logins with a wrong password, each for another account from another address."""
    with service.client() as client:
        token = client.get("/admin/login/").cookies["csrftoken"]
    return f"""
wrk.headers["Cookie"] = "csrftoken={token}"
wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"
function request()
  {ANY_ADDRESS}
  return wrk.format("POST", nil, nil,
    "password=guess&csrfmiddlewaretoken={token}&username=" .. math.random(1, 1000000))
end
"""
