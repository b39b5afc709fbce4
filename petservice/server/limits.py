"""All bounds on what clients can make one worker process hold or do, in one place.

The bound on a body to the API is `petservice.api.parsers.MAX_BODY_BYTES`, because it is part of the API.
"""

# Connections.

# Connections of a worker; further ones wait in the kernel's queue. A connection takes a few KiB.
MAX_CONNECTIONS = 1000
# Connections of one address to a worker; further ones are closed. Half of all, so that no single address can keep all
# others out. Proxies of FORWARDED_ALLOW_IPS are exempt: their connections are those of many clients.
MAX_CONNECTIONS_OF_ADDRESS = MAX_CONNECTIONS // 2
# Seconds for a request to arrive, from its first byte to its last, and for a client to take some of a response. Also
# for a new connection to send its first byte, and for a TLS handshake. A slow client is otherwise kept for ever.
REQUEST_TIMEOUT = 20
# Bytes of a body for which it gets a second more, so that large uploads are possible.
MIN_BYTES_PER_SECOND = 16 * 1024
# Seconds in which a client that is refused may still send before its connection is closed. If the connection were
# closed immediately, it would be reset while the client still sends, and the response lost.
LINGER = 10
# Seconds that a connection is kept without a request. Longer than the idle time-out of the usual load balancers (60 s)
# would be safe too, but holds a connection for each client; 15 s spans a client's pauses.
KEEPALIVE = 15
# Seconds, when the worker stops, in which a client may use a kept connection once more and gets `Connection: close`.
LAST_REQUEST_TIMEOUT = 1.5

# Heads of requests.

# Bytes of a request line: gunicorn's maximum. The API answers a long query, because it can say what is wrong with it.
MAX_REQUEST_LINE = 8190
# Headers of a request, each of 8,190 bytes at most, so that they take half a MiB at most.
MAX_HEADERS = 64
# Bytes that the parser gets in one piece. It moves all that follows a chunk in the same piece, for each chunk.
MAX_PIECE_BYTES = 16 * 1024

# Bodies of requests to pages.

# Bytes of a body from a client without a session of staff: forms, such as that for the login.
MAX_FORM_BYTES = 64 * 1024
# Bytes of an upload by staff. Django limits what is not a file further.
MAX_UPLOAD_BYTES = 128 * 1024 * 1024
# Uploads by staff at a time, in all and of one account: each is in a temporary file until its request has ended.
MAX_UPLOADS = 8
MAX_UPLOADS_OF_ACCOUNT = 2
# Bytes of an upload that are kept in memory; a larger one is kept in a temporary file.
UPLOAD_MEMORY_BYTES = 256 * 1024

# Calls.

# Requests to the API that read at a time. On PostgreSQL each has a connection of its own.
CONCURRENT_READS = 3
# Calls that wait for the database, for reads and for writes each: as many as there are connections, so that any beyond
# are of clients that have left.
MAX_QUEUED = 1000
# Threads for requests that write in several statements, where these block their thread, and for pages. Requests to
# write, pages and the readiness probe never wait for each other.
WRITE_THREADS = 2
PAGE_THREADS = 3
READINESS_THREADS = 1

# Strangers: clients without a key or a session that has been valid lately.

# Requests of strangers that are handled at a time, of each kind: reads and writes of the API, pages, public responses,
# /ready and /v1/health. Strangers wait for each other, by turns of their addresses, and others do not wait for them.
CONCURRENT_STRANGERS = 1
# Keys and sessions that are remembered because they were valid at their last request, so their clients do not wait with
# strangers. A hash of each is kept. The one that was noted first is forgotten first.
MAX_KNOWN_CLIENTS = 10_000
# Bytes of responses that are the same for every client and are kept in memory: more than all static files have.
MAX_PUBLIC_BYTES = 16 * 1024 * 1024
# Bytes of a response that are passed to the connection in one piece. The next piece waits until the client takes some,
# so that a client that reads slowly holds no copy of a large response.
RESPONSE_PIECE_BYTES = 256 * 1024

# Logins.

# Logins that check a password at a time. With the one thread that pages of strangers take, one thread for pages is left
# to clients with a session.
CONCURRENT_LOGINS = 1
# Logins, also those that wait for a thread, in all and of one address. A password takes long to check on purpose.
MAX_LOGINS = 8
MAX_LOGINS_OF_ADDRESS = 4
