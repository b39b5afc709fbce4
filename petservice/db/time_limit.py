"""The time limit of database statements, for a server that does not respond and therefore ends no statement itself."""

from contextvars import ContextVar

# Seconds that a request waits for the response to a statement, a little more than PostgreSQL lets the statement run. A
# new thread starts with it.
REQUEST_TIMEOUT = 21.0
# The time limit of statements, or None. Management commands have none.
time_limit: ContextVar[float | None] = ContextVar("time_limit", default=REQUEST_TIMEOUT)
