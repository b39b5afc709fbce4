"""The kinds of path that the service treats differently before it looks for a URL pattern."""

API = "/v1/"
ADMIN = "/admin/"
LOGIN = "/admin/login/"
STATIC = "/static/"
HEALTH = "/v1/health"
READINESS = "/ready"
# Load balancers request these by IP address, without a host name, and often without TLS.
PROBES = (HEALTH, READINESS)
# Pages for people, which may respond in HTML. All other paths respond in JSON.
SECTIONS = (ADMIN, STATIC)
# Pages without a form. Methods other than GET and HEAD get a JSON error.
PAGES = ("/", "/docs", "/docs/api", "/docs/changelog")
