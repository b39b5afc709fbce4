from typing import Any

from django.conf import settings
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.viewsets import GenericViewSet

from petservice.api.errors import MESSAGES


class APIViewSet(GenericViewSet[Any]):
    """A viewset whose wrong methods are 404, decided before the key is looked at, as the contract has it."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        method = (request.method or "").lower()
        # The browsable API asks with OPTIONS what a form may hold.
        if method not in self.action_map and not (settings.DEBUG and method == "options"):
            raise NotFound(MESSAGES[404])
        super().initial(request, *args, **kwargs)
