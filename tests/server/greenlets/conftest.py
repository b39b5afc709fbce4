from collections.abc import Iterator

import pytest
from django.db import DEFAULT_DB_ALIAS, connections


@pytest.fixture(autouse=True)
def connection_of_this_thread() -> Iterator[None]:
    """Restore the database connection of this thread after a greenlet pool has replaced it with its own."""
    own = connections[DEFAULT_DB_ALIAS]
    yield
    if connections[DEFAULT_DB_ALIAS] is not own:
        connections[DEFAULT_DB_ALIAS].close()  # the test may have used it
    connections[DEFAULT_DB_ALIAS] = own
