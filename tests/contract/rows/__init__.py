"""The contract as a table."""

from tests.contract.rows import bodies, keys, lists, paths

ROWS = [*keys.ROWS, *paths.ROWS, *lists.ROWS, *bodies.ROWS]
