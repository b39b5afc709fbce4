"""The home page, the guide for client developers, and the changelog."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import escape

from petservice import guides
from petservice.api.errors import safe_methods_only

# The URL of the service in the guide's programs. In the repository the guide cannot know another.
_EXAMPLE_URL = "http://127.0.0.1:8000"
# The pages that the guide names, by the text in which it does. In the repository these are no links.
_PAGES = {"/docs": "docs", "/openapi.json": "openapi", "petservice/docs/changelog.md": "changelog"}


def _address(request: HttpRequest) -> str:
    """Return the URL of the service that the visitor used."""
    return f"{request.scheme}://{request.get_host()}"


@safe_methods_only
def front(request: HttpRequest) -> HttpResponse:
    """Show the home page, with links and an example call to the URL that the visitor used."""
    return render(request, "petservice/front.html", {"address": _address(request)})


@safe_methods_only
def api_guide(request: HttpRequest) -> HttpResponse:
    """Show the guide for client developers, with the URL that the visitor used and links to the pages that it names."""
    guide = guides.guide(guides.API_GUIDE)
    html = guide.html.replace(_EXAMPLE_URL, escape(_address(request)))
    for text, name in _PAGES.items():
        html = html.replace(f"<code>{text}</code>", f'<a href="{reverse(name)}"><code>{text}</code></a>')
    return _show(request, guide._replace(html=html))


@safe_methods_only
def changelog(request: HttpRequest) -> HttpResponse:
    """Show the changes of each version."""
    return _show(request, guides.guide(guides.CHANGELOG))


def _show(request: HttpRequest, guide: guides.Guide) -> HttpResponse:
    context = {"guide": guide, "back_url": reverse("front"), "back_text": "Pet service"}
    return render(request, "petservice/guide.html", context)
