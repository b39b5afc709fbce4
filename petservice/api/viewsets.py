"""The base class of the API's viewsets."""

from typing import Any

from django.conf import settings
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.viewsets import GenericViewSet

from petservice.api.errors import MESSAGES


class APIViewSet(GenericViewSet[Any]):
    """A viewset that returns 404 for an unknown method before it checks the key, as the contract says."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        # OPTIONS, by which the browsable API finds out what a form may hold, is the action `metadata`.
        if self.action is None or (self.action == "metadata" and not settings.DEBUG):
            raise NotFound(MESSAGES[404])
        super().initial(request, *args, **kwargs)


def location(url: str, record_id: str) -> str:
    """Return the URL of a record that a POST at `url` created."""
    return f"{url}/{record_id}"
