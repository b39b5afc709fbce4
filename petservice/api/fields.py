"""Serializer fields that take what the contract says and convert nothing."""

from typing import Any, NoReturn

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from petservice.api.validators import ID_PATTERN, NOT_BLANK

MAX_LENGTH = 255  # characters

# To clients an opaque string: they store it and send it back, and need not parse it.
ID_SCHEMA = {"type": "string", "minLength": 36, "maxLength": 36, "pattern": f"^{ID_PATTERN}$"}

_JSON_TYPES = {bool: "a boolean", int: "a number", float: "a number", list: "an array", dict: "an object"}


@extend_schema_field(ID_SCHEMA)
class IDField(serializers.Field[str, Any, str, Any]):
    """The id of a record, which only the service assigns."""

    def to_representation(self, value: str) -> str:
        return value


@extend_schema_field(
    # No NUL, and one character that is no white space: in what ECMA 262, Python, Java and Go's RE2 have in common.
    # \s is ECMA 262's, which leaves out what stands beside it here (see NOT_BLANK).
    {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_LENGTH,
        "pattern": r"^[^\x00]*[^\x00\x1c-\x1f\x85\s][^\x00]*$",
    }
)
class TextField(serializers.Field[str, Any, str, Any]):
    """A JSON string of 1 to 255 characters that is not only white space and has no NUL, kept exactly as sent."""

    default_error_messages = {
        "required": '{name} is required: send a string, for example {{"name": "Rex"}}.',
        "null": "{name} must be a string, not null{instead}.",
        "type": '{name} must be a JSON string, as in {{"{name}": "…"}}; got {got}.',
        "blank": "{name} must have at least one character that is not white space.",
        "length": "{name} must have at most {most} characters; got {got}.",
        "nul": "{name} must not contain the NUL character (\\u0000): leave it out.",
    }

    def fail(self, key: str, **kwargs: Any) -> NoReturn:
        instead = "" if self.required else ": leave it out if there is none"
        super().fail(key, name=self.field_name, instead=instead, **kwargs)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        """The text, or SkipField if there is none and need not be; raises ValidationError for anything else."""
        # For most texts this is all: such a field has no validators.
        return self.to_internal_value(data) if isinstance(data, str) else super().run_validation(data)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("type", got=_JSON_TYPES[type(data)])
        if not NOT_BLANK.search(data):
            self.fail("blank")
        if len(data) > MAX_LENGTH:
            self.fail("length", most=MAX_LENGTH, got=len(data))
        if "\0" in data:
            self.fail("nul")
        return data

    def to_representation(self, value: str) -> str:
        return value
