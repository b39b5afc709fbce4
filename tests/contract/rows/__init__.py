"""The contract as tables of requests and expected responses."""

from tests.contract.rows import bodies, keys, lists, paths

ROWS = {"keys": keys.ROWS, "paths": paths.ROWS, "lists": lists.ROWS, "bodies": bodies.ROWS}
