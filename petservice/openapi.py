"""The OpenAPI document as a whole: its introduction, the form that client generators take best, and its views."""

from collections.abc import Callable
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer2
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.renderers import TemplateHTMLRenderer

from petservice.api.errors import CODES, safe_methods_only
from petservice.api.pagination import DEFAULT_LIMIT, MAX_LIMIT
from petservice.api.parsers import MAX_BODY_BYTES
from petservice.api.schema import CAUSES

_INTRODUCTION = f"""\
Keeps pet records, answers store inventory counts, and tells load balancers that it is well.
Requests and answers are JSON.

## Authentication

Send an API key in the header `X-API-Key` with every request; only `GET /health` needs none. The service's staff make
keys: for one environment (`test` or `live`, as the key's beginning says), to read only or to read and write, with or
without an end. Send keys over HTTPS only, and keep them out of client-side code and source control.

## Paging

`GET /pets` returns pets oldest first: {DEFAULT_LIMIT}, or as many as `limit` says, up to {MAX_LIMIT}. While there are
more, the answer has a header `Link: <address>; rel="next"`. Get that address for the next page, until an answer has no
such header. The walk sees every pet that was there when it began exactly once, whatever is created meanwhile.

## Retries

GET is safe to repeat. POST creates another pet each time, unless you send an `Idempotency-Key`: a text of your own
making, the same at every attempt to create one pet. For 24 hours the same key with the same name and tag creates
nothing new and gets the first answer again, marked `Idempotency-Replayed: true`. Failures are not kept: mend the
request and send it again with its key.

After a broken connection, a 500, a 409 or a 429 wait 250 to 500 ms before the second attempt and twice as long before
each further one, plus up to 100 ms of chance, and no less than `Retry-After` says; give up after 5 attempts. Whatever
else is refused will be refused again.

## Errors

A failure has a status and the body `{{"error": {{"code", "message"}}}}`. Programs go by the status or the code. The
message tells people what was wrong, where, and what would be right; its wording may change.

| status | code | cause |
| --- | --- | --- |
"""
_AFTER_THE_TABLE = f"""
Every answer has an `X-Request-ID`: quote it when you report a failure.

## Limits

A body has at most {MAX_BODY_BYTES // 1024} KiB. The service's staff may limit a key to a number of requests in any
minute. Ignore members of an answer that you do not know: a later version may add some. What breaks clients comes as
`/v2`, beside `/v1`.
"""


# drf-spectacular makes a component of each enumeration and takes no description for it.
_ENUM_DESCRIPTIONS = {
    "ErrorCode": "Machine-readable error code.",
    "HealthStatus": "`ok` whenever the service responds.",
    "TooManyRequestsCode": "Machine-readable error code of an exceeded rate limit.",
}


# Not drf-spectacular's view of the document: it puts the parameter `version` into a header and into the document, and
# keeps a catalogue of translations in memory for each `lang` that it is ever sent.
@safe_methods_only
def document(request: HttpRequest) -> HttpResponse:
    """Return the OpenAPI document, which is the same for every request."""
    return HttpResponse(_document(), content_type="application/json")


@cache
def _document() -> bytes:
    rendered: bytes = OpenApiJsonRenderer2().render(SchemaGenerator().get_schema(public=True))
    return rendered


_docs: Callable[[HttpRequest], HttpResponseBase] = SpectacularSwaggerSplitView.as_view(
    url_name="openapi",
    url_self="/docs",
    template_name="petservice/docs.html",
    renderer_classes=[TemplateHTMLRenderer],
)


@safe_methods_only
def docs(request: HttpRequest) -> HttpResponseBase:
    """Return the page that shows the document, or with the parameter `script` its script; others are ignored."""
    request.GET = QueryDict("script" if "script" in request.GET else "")
    return _docs(request)


def describe(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Postprocessing hook: puts the introduction, with the table of error codes, into the document."""
    rows = (f"| {status} | `{code}` | {CAUSES[status]} |\n" for status, code in CODES.items())
    result["info"]["description"] = _INTRODUCTION + "".join(rows) + _AFTER_THE_TABLE
    return result


def single_examples(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Postprocessing hook: `example` for `examples` of one, which more client generators and pages understand."""
    _replace_examples(result["paths"])
    return result


def describe_components(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Add the descriptions and examples that are known elsewhere in the document, as a postprocessing hook."""
    schemas = result["components"]["schemas"]
    for name, description in _ENUM_DESCRIPTIONS.items():
        schemas[name]["description"] = description
    for path in result["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", []):
                parameter["example"] = parameter["schema"]["example"]
            request = operation.get("requestBody", {"content": {}})
            for body in request["content"].values():
                request["description"] = schemas[_component(body["schema"])]["description"]
                # Removed here, because the OpenAPI Generator for Java warns of an example beside the schema.
                _add_examples(body["schema"], body.pop("example"), schemas)
            for response in operation["responses"].values():
                for body in response["content"].values():
                    _add_examples(body["schema"], body["example"], schemas)
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
        _add_examples(field, value[name], schemas)
    if "items" in schema:
        _add_examples(schema["items"], value[0], schemas)


def _replace_examples(part: Any) -> None:
    if isinstance(part, dict):
        if "examples" in part:
            (only,) = part.pop("examples").values()
            part["example"] = only["value"]
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            _replace_examples(inner)
