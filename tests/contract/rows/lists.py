"""Rows for the parameters of the list of pets."""

from tests.contract.rows.row import ODD_TYPES, UNKNOWN_ID, WRITE, get, has_at_most, is_empty, says

# limit and after.
ROWS = [
    get("limit 0", "/v1/pets?limit=0", check=is_empty),
    get("limit 1", "/v1/pets?limit=1", check=has_at_most(1)),
    get("limit of 4000 digits", "/v1/pets?limit=" + "9" * 4000, check=has_at_most(1000)),
    get("limit of zeros and 1", "/v1/pets?limit=" + "0" * 3000 + "1", check=has_at_most(1)),
    get("repeated limit, good last", "/v1/pets?limit=x&limit=1", check=has_at_most(1)),
    get("repeated limit, bad last", "/v1/pets?limit=1&limit=x", 400, says("limit")),
    get("unknown parameter alone", "/v1/pets?page=x&offset=-1&Limit=x", check=has_at_most(100)),
    get("limit with an escaped name", "/v1/pets?l%69mit=1", check=has_at_most(1)),
    get("limit with a blank before its name", "/v1/pets?+limit=1", check=has_at_most(100)),
    get("limit with a semicolon", "/v1/pets?limit=1;after=x", 400, says("limit")),
    get("after the last", "/v1/pets?after=ffffffff-ffff-7fff-bfff-ffffffffffff", check=is_empty),
    get("after the first", "/v1/pets?limit=1&after={pet}", check=has_at_most(1)),
    get("after an unknown id", "/v1/pets?limit=1&after=00000000-0000-7000-8000-000000000000", check=has_at_most(1)),
    get("bad after, limit 0", "/v1/pets?limit=0&after=x", 400, says("after")),
    *(
        get(f"limit {name}", f"/v1/pets?limit={text}", 400, says("limit"))
        for name, text in {
            "minus one": "-1",
            "plus one": "%2B1",
            "blank one": "+1",
            "one line feed": "1%0A",
            "whole decimal": "1.0",
            "underscore": "1_000",
            "empty": "",
            "Arabic digits": "%D9%A1%D9%A2",
            "superscript": "%C2%B2",
            "not UTF-8": "%FF",
        }.items()
    ),
    *(
        get(f"after {name}", f"/v1/pets?after={text}", 400, says("after"))
        for name, text in {
            "empty": "",
            "letters": "abc",
            "in upper case": UNKNOWN_ID.upper(),
            "with a line feed": UNKNOWN_ID + "%0A",
            "with a NUL": UNKNOWN_ID + "%00",
            "without hyphens": UNKNOWN_ID.replace("-", ""),
        }.items()
    ),
]

# The content type says nothing about the query.
ROWS += [
    get(f"limit 0, type {kind!r}", "/v1/pets?limit=0", check=is_empty, headers=[*WRITE, ("Content-Type", kind)])
    for kind in ("text/plain; charset=cp037", "text/plain; charset=utf-16", *ODD_TYPES)
]
ROWS += [
    get("as many parameters as are read", "/v1/pets?limit=0" + "&" * 999, check=is_empty),
    get("a parameter more", "/v1/pets?limit=0" + "&" * 1000, 400, says("parameters", "1000")),
]
