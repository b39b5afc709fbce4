"""The OpenAPI document: its introduction, and corrections for client generators."""

from functools import cache
from typing import Any

from django.template.loader import render_to_string
from drf_spectacular.generators import SchemaGenerator

from petservice.api.errors import CODES
from petservice.api.pagination import DEFAULT_LIMIT, MAX_LIMIT
from petservice.api.parsers import MAX_BODY_BYTES
from petservice.api.schema import CAUSES

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
    values = {
        "default_limit": DEFAULT_LIMIT,
        "max_limit": MAX_LIMIT,
        "max_body_kib": MAX_BODY_BYTES // 1024,
        "errors": [(status, code, CAUSES[status]) for status, code in CODES.items()],
    }
    result["info"]["description"] = render_to_string("guides/introduction.md", values)
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
    return str(schema["$ref"].rpartition("/")[2])


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
