"""The contract as a table of requests and expected responses."""

from tests.contract.rows import bodies, keys, lists, paths

ROWS = [*keys.ROWS, *paths.ROWS, *lists.ROWS, *bodies.ROWS]
