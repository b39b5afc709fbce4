"""What people see in the back office when something is refused or fails; programs get the error envelope as ever."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.cache import add_never_cache_headers

from petservice.api.errors import standard_error_response
from petservice.monitoring.logs import request_id


def failure_page(status: int, title: str, *sentences: str, request: HttpRequest | None = None) -> HttpResponse:
    """A page in the admin's look, with the menu of who is logged in if there is a `request`.

    The menu asks the database: without it the page can say that the database is gone.
    """
    site = admin.site
    known = site.each_context(request) if request else {"site_title": site.site_title, "site_header": site.site_header}
    text = render_to_string("admin/failure.html", known | {"title": title, "sentences": sentences}, request)
    response = HttpResponse(text, status=status)
    add_never_cache_headers(response)
    return response


def _is_staff_page(request: HttpRequest) -> bool:
    return request.path.startswith(reverse("admin:index"))


# Django's error views (handler400 and its kin in petservice.urls, CSRF_FAILURE_VIEW in the settings).


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not _is_staff_page(request):
        return standard_error_response(400)
    return failure_page(
        400,
        "This cannot be read",
        "What the browser sent is incomplete, malformed, or too much at once. Nothing was changed.",
        "Go back, load the page again, and try once more, with fewer rows if there were many.",
    )


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not _is_staff_page(request):
        return standard_error_response(403)
    return failure_page(
        403,
        "You may not do this",
        "Your account has no permission for it, or it is something that nobody may do. Nothing was changed.",
        "If your work needs it, ask an administrator of this service to give your account the permission.",
        request=request,
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not _is_staff_page(request):
        return standard_error_response(404)
    return failure_page(
        404,
        "There is no such page",
        "Nothing is found at this address: it may be mistyped, or what it led to is gone.",
        request=request,
    )


def server_error(request: HttpRequest) -> HttpResponse:
    if not _is_staff_page(request):
        return standard_error_response(500)
    return failure_page(
        500,
        "Something went wrong",
        "The service failed, through no fault of yours. Before you try again, look whether your change was made.",
        f"If it fails again, tell an administrator of this service the time and this number: {request_id.get()}",
    )


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    if not _is_staff_page(request):
        return standard_error_response(403)
    return failure_page(
        403,
        "This form was not accepted",
        "It came without the sign that a page of this service sent it. Nothing was changed.",
        "That happens after logging in or out in another window, and where cookies are blocked: go back, load the "
        "page again, and send the form once more.",
        "If you sent no form, another site tried to send one in your name: tell an administrator of this service.",
    )
