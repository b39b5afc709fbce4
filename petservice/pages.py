"""The home page and the guide for client developers."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from petservice import guides
from petservice.api.errors import safe_methods_only


@safe_methods_only
def front(request: HttpRequest) -> HttpResponse:
    """Show the home page, with links and an example call to the URL that the visitor used."""
    return render(request, "petservice/front.html", {"address": f"{request.scheme}://{request.get_host()}"})


@safe_methods_only
def api_guide(request: HttpRequest) -> HttpResponse:
    """Show the guide for client developers."""
    context = {"guide": guides.guide(guides.API_GUIDE), "back_url": reverse("front"), "back_text": "Pet service"}
    return render(request, "petservice/guide.html", context)
