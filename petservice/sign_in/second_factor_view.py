"""The pages on which staff set up, renew and remove their own second factor."""

from base64 import b32encode

import django_otp
import segno
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django_otp.plugins.otp_totp.models import TOTPDevice, default_key

from petservice.admin_pages.staff_page import staff_page
from petservice.sign_in import factors
from petservice.sign_in.login_view import page_before_change

# The key of a session under which it has the secret that the last page of the set-up showed.
_KEY = "new_second_factor"


def second_factor(request: HttpRequest) -> HttpResponse:
    """Show the state of the person's second factor, and set it up, renew its recovery codes, or remove it."""
    is_set_up = factors.is_set_up(request.user)
    if (request.method == "POST" or not is_set_up) and (login_page := page_before_change(request)):
        return login_page
    if not is_set_up:
        return _set_up(request)
    if "renew" in request.POST:
        return _show_codes(request, factors.renew_recovery_codes(request))
    if "remove" in request.POST:
        factors.remove(request, request.user, message="Second factor removed.")
        messages.success(request, "The second factor was removed. The next login needs only your password.")
        return HttpResponseRedirect(request.get_full_path())
    if request.method == "POST":
        message = "Nothing was changed: your second factor is set up already. Recovery codes are shown only once."
        messages.warning(request, message)
        return HttpResponseRedirect(request.get_full_path())
    context = {
        "device": TOTPDevice.objects.devices_for_user(request.user, confirmed=True).first(),
        "codes_left": factors.recovery_codes_left(request.user),
        "is_required": factors.is_required(request.user),
    }
    return staff_page(request, "sign_in/second_factor.html", "Second factor", context)


def _set_up(request: HttpRequest) -> HttpResponse:
    error, key = "", request.session.get(_KEY)
    if "code" in request.POST:
        if key and (done := factors.set_up(request, key, request.POST["code"])):
            device, codes = done
            del request.session[_KEY]
            django_otp.login(request, device)
            return _show_codes(request, codes)
        error = (
            "This code is wrong. Check the clock of your device, and enter the code that it shows now. If you have "
            "opened this page twice, or logged in again, scan the picture below first."
        )
    if not (error and key):
        key = request.session[_KEY] = default_key()
    device = TOTPDevice(user_id=request.user.pk, key=key)
    secret = b32encode(device.bin_key).decode()
    context = {
        "secret": " ".join(secret[start : start + 4] for start in range(0, len(secret), 4)),
        "qr_code": segno.make(device.config_url, micro=False).svg_data_uri(scale=5, light="white"),
        "error": error,
        "is_required": factors.is_required(request.user),
    }
    return staff_page(request, "sign_in/set_up.html", "Set up a second factor", context)


def _show_codes(request: HttpRequest, codes: list[str]) -> HttpResponse:
    """Return the only page that shows these recovery codes."""
    target = request.GET.get("next", "")
    is_safe = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    context = {
        "codes": codes,
        "continue_url": target if is_safe else reverse("admin:index"),
    }
    return staff_page(request, "sign_in/recovery_codes.html", "Your recovery codes", context)
