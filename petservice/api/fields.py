"""Serializer fields that take what the contract says and convert nothing."""

from typing import Any

from rest_framework import serializers


class TextField(serializers.CharField):
    """A JSON string of 1 to 255 characters that is not only white space, kept exactly as sent.

    REST framework's own field makes "5" of the number 5 and trims blanks.
    """

    def __init__(self, *, name: str, **kwargs: Any) -> None:
        kwargs["error_messages"] = {
            "required": f'{name} is required, for example {{{{"name": "Rex"}}}}.',
            "null": f"{name} must not be null: send a string, or leave out what is optional.",
            "invalid": f"{name} must be a JSON string.",
            "blank": f"{name} must not be empty or only white space.",
            "max_length": f"{name} must have at most 255 characters.",
            "prohibited": f"{name} must not contain the NUL character.",
        }
        super().__init__(min_length=1, max_length=255, trim_whitespace=False, **kwargs)
        # The standard validators, of NUL and lone surrogates, do not name the field; orjson refuses surrogates.
        self.validators = [one for one in self.validators if "Prohibit" not in type(one).__name__]

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if isinstance(data, str) and not data.strip():
            self.fail("blank")
        return super().run_validation(data)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        if "\0" in data:
            self.fail("prohibited")
        return data
