"""The kinds of path, by which requests are told apart before a URL pattern is looked for."""

API = "/v1/"
ADMIN = "/admin/"
LOGIN = "/admin/login/"
STATIC = "/static/"
HEALTH = "/v1/health"
READINESS = "/ready"
# Load balancers probe these by address, without a host name, and often without TLS.
PROBES = (HEALTH, READINESS)
# Pages for people, which may respond in HTML; everything else responds in JSON.
SECTIONS = (ADMIN, STATIC)
# Pages to be read: any other method than GET and HEAD is answered in JSON as well.
PAGES = ("/", "/docs")
