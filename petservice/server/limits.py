"""All limits on the resources of one worker process that clients can use.

The limit of an API request's body is `petservice.api.parsers.MAX_BODY_BYTES`, because it is part of the API.
"""

from django.db import connection

# Connections.

# Maximum number of connections; further ones wait in the kernel's queue. A connection takes a few KiB.
MAX_CONNECTIONS = 1000
# Maximum number of connections from one address; further ones are closed. Half of all, so that no single address can
# keep out all others. Proxies of FORWARDED_ALLOW_IPS are exempt, because they connect for many clients.
MAX_CONNECTIONS_OF_ADDRESS = MAX_CONNECTIONS // 2
# Seconds for a complete request to arrive, for a client to read some of a response, for the first byte of a new
# connection, and for a TLS handshake. Otherwise a slow client would keep its connection forever.
REQUEST_TIMEOUT = 20
# Minimum upload rate: each of these many bytes of a body adds one second, so that large uploads are possible.
MIN_BYTES_PER_SECOND = 16 * 1024
# Seconds for which a refused client may still send before its connection is closed. Closing the connection immediately
# would reset it while the client sends, and the response would be lost.
LINGER = 10
# Seconds that an idle connection is kept. A load balancer must close idle connections earlier.
KEEPALIVE = 15
# Seconds after the start of a stop, in which idle connections may send one more request.
LAST_REQUEST_TIMEOUT = 1.5

# Request lines and headers.

# Maximum length of a request line in bytes. gunicorn allows no more.
MAX_REQUEST_LINE = 8190
# Maximum number of headers, and of bytes of one with its line break, so that all take at most half a MiB.
MAX_HEADERS = 64
MAX_HEADER_BYTES = 8190
# Maximum number of bytes for one call of the parser. For each chunk of a body, the parser copies the rest of the bytes.
MAX_PIECE_BYTES = 4 * 1024
# Number of bytes of a body, or of further requests, above which the service reads no more from a connection until it
# has handled them.
MAX_UNREAD_BYTES = 64 * 1024

# Bodies of requests to pages.

# Maximum size of a body from a client without a staff session: forms, such as the login.
MAX_FORM_BYTES = 64 * 1024
# Maximum size of an upload by staff. Django has a lower limit for form fields.
MAX_UPLOAD_BYTES = 128 * 1024 * 1024
# Maximum number of simultaneous uploads, of all accounts and of one. Each is in a temporary file.
MAX_UPLOADS = 8
MAX_UPLOADS_OF_ACCOUNT = 2
# Maximum size of an upload that is kept in memory; a larger one is kept in a temporary file.
UPLOAD_MEMORY_BYTES = 256 * 1024

# Requests in progress.

# Number of threads of each pool: for API requests that the fast path leaves to Django, for pages, for the readiness
# check and for the health check. The pools are separate, so that the API never queues behind pages, nor a check behind
# either. Each thread but that of health checks has a connection to the database. SQLite has one writer at a time: with
# four threads, one of 100 posts took 276 ms instead of 92 ms.
THREADS = {"api": 2 if connection.vendor == "sqlite" else 4, "pages": 3, "readiness": 1, "health": 1}
# Size of the pieces in which a response is sent. The next piece waits until the client reads, so that a slow client
# occupies no memory for a copy of a large response. Other clients are served between two pieces.
RESPONSE_PIECE_BYTES = 32 * 1024

# Logins.

# Number of simultaneous password checks. The other threads are left for staff.
CONCURRENT_LOGINS = 1
# Seconds after a login that did not redirect, in which no other login is checked. The pages for guesses of passwords
# would take a thread for some 4 % of the time, which delays other requests.
FAILED_LOGIN_PAUSE = 0.75
# Maximum number of logins in progress or waiting, in all and from one address. A password check is slow on purpose.
MAX_LOGINS = 8
MAX_LOGINS_OF_ADDRESS = 4
# Minimum number of seconds before a login beyond these limits is rejected; the maximum is twice as long. Most clients
# that guess passwords repeat immediately, and would keep the processor busy with rejections.
REJECTION_DELAY = 1
