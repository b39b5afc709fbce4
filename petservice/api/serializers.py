"""Fields of serializers, which accept exactly the values of the contract, without any conversion."""

from typing import Any, NoReturn

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from petservice.api.validators import ID_PATTERN, NOT_BLANK

MAX_LENGTH = 255  # characters

# For clients an id is an opaque string, so generated clients pass it on without parsing.
ID_SCHEMA = {"type": "string", "minLength": 36, "maxLength": 36, "pattern": f"^{ID_PATTERN}$"}

# The types of JSON values, for messages. A message has no value of another type, which may be large or nested deeply.
JSON_TYPES = {bool: "a boolean", int: "a number", float: "a number", list: "an array", dict: "an object"}


@extend_schema_field(ID_SCHEMA)
class IDField(serializers.Field[str, Any, str, Any]):
    """The id of a record in responses. Only the service assigns ids."""


@extend_schema_field(
    # No NUL, and at least one character that is not white space, in ASCII and in the syntax that the languages of
    # generated clients share. Their \s lacks some white space of Python's (see NOT_BLANK). U+0085 is not listed,
    # because no escape of it is valid everywhere: Ruby rejects \x85, and Go and PHP reject \u0085.
    {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_LENGTH,
        "pattern": r"^[^\x00]*[^\x00\x1c-\x1f\s][^\x00]*$",
    }
)
class TextField(serializers.Field[str, Any, str, Any]):
    """A JSON string of 1 to 255 characters that is not only white space and has no NUL, kept exactly as sent."""

    default_error_messages = {
        "required": '{name} is required: send a string, for example {{"name": "Rex"}}.',
        "null": "{name} must be a string, not null{instead}.",
        "type": '{name} must be a JSON string, as in {{"{name}": "…"}}; got {got}.',
        "blank": "{name} must not be blank.",
        "length": "{name} must have at most {most} characters; got {got}.",
        "nul": "{name} must not contain the NUL character (\\u0000): leave it out.",
    }

    def fail(self, key: str, **kwargs: Any) -> NoReturn:
        instead = "" if self.required else ": leave it out if there is none"
        super().fail(key, name=self.field_name, instead=instead, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("type", got=JSON_TYPES[type(data)])
        if not NOT_BLANK.search(data):
            self.fail("blank")
        if len(data) > MAX_LENGTH:
            self.fail("length", most=MAX_LENGTH, got=len(data))
        if "\0" in data:
            self.fail("nul")
        return data
