"""The front page; the documentation and the admin come from their libraries."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from petservice.api.errors import safe_methods_only


@safe_methods_only
def front(request: HttpRequest) -> HttpResponse:
    """What this is, where everything is, and how to make the first call at the address that the visitor used."""
    return render(request, "petservice/front.html", {"address": f"{request.scheme}://{request.get_host()}"})
