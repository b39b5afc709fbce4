"""The guide for client developers, the changelog, and the OpenAPI document. The other pages are templates alone."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import escape

from petservice.api.errors import safe_methods_only
from petservice.guides import openapi
from petservice.guides.rendering import API_GUIDE, CHANGELOG, guide

# The URL of the service in the guide's programs. In the repository, the guide has no other.
_EXAMPLE_URL = "http://127.0.0.1:8000"
# The pages that the guide names, by the text in which it does. In the repository these are no links.
_PAGES = {"/docs": "docs", "/openapi.json": "openapi", "petservice/docs/changelog.md": "changelog"}


@safe_methods_only
def api_guide(request: HttpRequest) -> HttpResponse:
    """Show the guide for client developers, with the URL that the visitor used and links to the pages that it names."""
    shown = guide(API_GUIDE)
    html = shown.html.replace(_EXAMPLE_URL, escape(f"{request.scheme}://{request.get_host()}"))
    for text, name in _PAGES.items():
        html = html.replace(f"<code>{text}</code>", f'<a href="{reverse(name)}"><code>{text}</code></a>')
    return render(request, "guides/guide.html", {"guide": shown._replace(html=html)})


@safe_methods_only
def changelog(request: HttpRequest) -> HttpResponse:
    """Show the changes of each version."""
    return render(request, "guides/guide.html", {"guide": guide(CHANGELOG)})


# A view of our own, because drf-spectacular's puts the parameter `version` into a header and into the document. It also
# keeps a catalogue of translations in memory for each value of `lang`.
@safe_methods_only
def openapi_document(request: HttpRequest) -> HttpResponse:
    """Return the OpenAPI document, which names the URL that the client used as its server."""
    (server,) = openapi.document()["servers"]
    servers = [server | {"url": request.build_absolute_uri(server["url"])}]
    return JsonResponse(openapi.document() | {"servers": servers}, json_dumps_params={"indent": 4})
