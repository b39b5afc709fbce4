"""The front page; the documentation and the admin come from their libraries."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe


@csrf_exempt  # its refusal of a wrong method is ours, not the forms' protection's
@require_safe
def front(request: HttpRequest) -> HttpResponse:
    """What this is, where everything is, and how to make the first call at the address that the visitor used."""
    return render(request, "petservice/front.html", {"address": f"{request.scheme}://{request.get_host()}"})
