"""The error pages of the admin. Outside the admin, the same errors are JSON responses."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from petservice.admin_pages.staff_page import failure_page
from petservice.api.errors import standard_error_response
from petservice.monitoring.logs import request_id


def _page_or_json(request: HttpRequest, status: int, *texts: str, has_menu: bool = False) -> HttpResponse:
    """Return an error as a page with a title and sentences in the admin, and as JSON elsewhere."""
    if not request.path.startswith(reverse("admin:index")):
        return standard_error_response(status)
    return failure_page(status, *texts, request=request if has_menu else None)


# Django's error views, configured by handler400 and others in petservice.urls and CSRF_FAILURE_VIEW in the settings.


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page_or_json(
        request,
        400,
        "The request could not be processed",
        "The address or the form was incomplete, too large or unknown. Nothing was changed.",
        "Go back, reload the page and try again, with fewer rows if you selected many.",
    )


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page_or_json(
        request,
        403,
        "Permission denied",
        "You do not have permission for this, or it is not allowed for anyone. Nothing was changed.",
        "If you need it for your work, ask an administrator to give your account the permission.",
        has_menu=True,
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page_or_json(
        request,
        404,
        "Page not found",
        "There is no page at this address. The address may be mistyped, or the record may have been deleted.",
        has_menu=True,
    )


def server_error(request: HttpRequest) -> HttpResponse:
    return _page_or_json(
        request,
        500,
        "Something went wrong",
        "An error occurred on our side. Check whether your change was saved before you try again.",
        f"If it happens again, send an administrator the time and this number: {request_id.get()}",
    )


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    if reason.startswith(("Origin checking", "Referer checking")):  # Django's reasons, also if the browser sent neither
        return _page_or_json(
            request,
            403,
            "The origin of this form was refused",
            "The browser did not confirm that this form comes from a page of the pet service. Nothing was changed.",
            "If you came here from another website, close this page. If it happens each time, show the operator of the "
            "service these causes:",
            "A proxy replaces the header Referrer-Policy, for example by no-referrer. Or it does not pass the Host "
            "header. Or CSRF_TRUSTED_ORIGINS lacks the address in the browser, with its scheme and its port.",
        )
    return _page_or_json(
        request,
        403,
        "This form was not accepted",
        "The form's security token is missing or out of date. Nothing was changed.",
        "This happens if you logged in or out in another window, if you sent a large file after the end of your "
        "session, or if cookies are blocked. Go back, reload the page and send the form again.",
        "If you did not send a form, another website tried to send one in your name. Inform an administrator.",
    )
