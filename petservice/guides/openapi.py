"""The OpenAPI document: its introduction, and corrections for client generators."""

from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator

from petservice.api.errors import CODES
from petservice.api.pagination import DEFAULT_LIMIT, MAX_LIMIT
from petservice.api.parsers import MAX_BODY_BYTES
from petservice.api.schema import CAUSES

_INTRODUCTION = f"""\
Keeps pet records, reports store inventory counts, and has a health check for load balancers.
Requests and responses are JSON.

## Authentication

Send an API key in the header `X-API-Key` with every request; only `GET /health` needs none. Ask the operator
of this service for a key. A key belongs to one environment (`pets_test_…` or `pets_live_…`), is read-only or
read-write, and may expire. Send keys over HTTPS only, and keep them out of client-side code and source control.

## Paging

`GET /pets` returns pets oldest first: {DEFAULT_LIMIT}, or as many as `limit` says, up to {MAX_LIMIT}. While there are
more, the response has a header `Link: <URL>; rel="next"`. Follow the `Link` header until a response has none. A program
that cannot read headers sends the `id` of the last pet as `after`, until a page is empty. You will get every pet that
existed when you started exactly once, even if others are created before you finish.

## Retries

GET is safe to retry. Each POST creates another pet. To make a POST safe to retry, send an `Idempotency-Key` header with
a unique value, for example a UUID, and reuse it for every attempt to create the same pet. Within 24 hours a request
with the same key and pet returns the original response with `Idempotency-Replayed: true` and creates nothing.
Failed requests are not stored: fix the request and send it again with the same key.

Retry after a connection error or a 409, 429, 500, 502, 503 or 504. Wait 250 to 500 ms, double the delay for each
further attempt, add up to 100 ms of random jitter, and wait at least as long as `Retry-After` says. Stop after five
attempts. Do not retry other errors.

## Errors

An error response has a status and the body `{{"error": {{"code", "message"}}}}`. Use the status or the code in
programs. The message is for people and may change: it says what was wrong, where, and how to correct it.

| status | code | cause |
| --- | --- | --- |
"""
_AFTER_THE_TABLE = f"""
Every response has an `X-Request-ID`: quote it when you report a problem.

## Limits

A request body has at most {MAX_BODY_BYTES // 1024} KiB. The operator may limit the requests per minute of a key. Ignore
unknown fields in responses, because a later version may add some. Breaking changes get a new version, `/v2`, and `/v1`
stays as it is.
"""


# drf-spectacular makes a component of each enumeration and takes no description for it.
_ENUM_DESCRIPTIONS = {
    "ErrorCode": "Machine-readable error code.",
    "HealthStatus": "`ok` whenever the service responds.",
}


@cache
def document() -> dict[str, Any]:
    """Generate the document, once for each process."""
    described: dict[str, Any] = SchemaGenerator().get_schema(public=True)
    return described


def complete(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Add the introduction, descriptions and examples that are known elsewhere, as a postprocessing hook."""
    rows = (f"| {status} | `{code}` | {CAUSES[status]} |\n" for status, code in CODES.items())
    result["info"]["description"] = _INTRODUCTION + "".join(rows) + _AFTER_THE_TABLE
    schemas = result["components"]["schemas"]
    for name, description in _ENUM_DESCRIPTIONS.items():
        schemas[name]["description"] = description
    for path in result["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", []):
                if "example" in parameter["schema"]:
                    parameter["example"] = parameter["schema"]["example"]
            request = operation.get("requestBody", {"content": {}})
            for body in request["content"].values():
                request["description"] = schemas[_component(body["schema"])]["description"]
                # None next to the schema, of which the OpenAPI Generator for Java warns.
                for one in body.pop("examples", {}).values():
                    _add_examples(body["schema"], one["value"], schemas)
            for response in operation["responses"].values():
                for body in response.get("content", {}).values():
                    # More generators read `example` than `examples`.
                    for one in body.pop("examples", {}).values():
                        body["example"] = one["value"]
                        _add_examples(body["schema"], one["value"], schemas)
    return result


def _component(schema: dict[str, Any]) -> str:
    """Return the name of the component that `schema` refers to."""
    name: str = schema["$ref"].rpartition("/")[2]
    return name


def _add_examples(schema: dict[str, Any], value: Any, schemas: dict[str, Any]) -> None:
    """Set `value` as the example of `schema`, and its parts as the examples of the parts that have none yet."""
    for part in [schema, *schema.get("allOf", [])]:
        if "$ref" in part:
            _add_examples(schemas[_component(part)], value, schemas)
    if "$ref" not in schema:
        schema.setdefault("example", value)
    for name, field in schema.get("properties", {}).items():
        if name in value:
            _add_examples(field, value[name], schemas)
    if value and "items" in schema:
        _add_examples(schema["items"], value[0], schemas)
