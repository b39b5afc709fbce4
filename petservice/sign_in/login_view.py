"""The way into the admin: the checks before each of its pages, and the login, by password and code.

The diagram in petservice/docs/architecture.md shows the way of a form that its session outlived.
"""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.forms import UsernameField
from django.contrib.auth.signals import user_login_failed
from django.contrib.auth.views import LoginView, redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from petservice.admin_pages.staff_page import staff_page
from petservice.sign_in import factors, kept_forms, sessions

# The key of a session under which it has the name that the login page begins with.
NAME = "name_for_login"


def page_before(request: HttpRequest, *, needs_recent_login: bool) -> HttpResponse | None:
    """Return the page that a person must get in place of the one that the request asks for, or None.

    `needs_recent_login` is for pages whose changes do. The CSRF token of the request has been checked before.
    """
    if not admin.site.has_permission(request):
        ended = "Your session has ended, or you logged out in another window."
        return login_page(request, ended) if _has_form(request) else None  # Django redirects to the login
    sessions.continue_session(request.session)
    name = request.resolver_match.url_name if request.resolver_match else None
    user: Any = request.user
    if name != "logout" and not user.is_verified():
        if factors.is_set_up(user):  # since this session began, in another one
            return login_page(request, "Your account has a second factor since your last login.")
        if factors.is_required(user) and name != "second_factor":
            continue_at = request.get_full_path() if request.method == "GET" else reverse("admin:index")
            return redirect_to_login(continue_at, reverse("admin:second_factor"))
    return page_before_change(request) if needs_recent_login and request.method == "POST" else None


def page_before_change(request: HttpRequest) -> HttpResponse | None:
    """Return the login page if the last login is too long ago to change keys, accounts or factors, or else None."""
    if sessions.is_recent(request.session):
        return None
    return login_page(request, "This needs another login, because the last one is more than 15 minutes ago.")


def _has_form(request: HttpRequest) -> bool:
    """Return whether a request has sent more than a CSRF token, which is all that the button that logs out sends."""
    return len(request.POST) > 1 or bool(request.FILES)


class LoginForm(AdminAuthenticationForm):
    """A login form that asks for the code of a second factor, and rejects names that are too long for an account."""

    # Django limits the length in the browser only.
    username = UsernameField(max_length=150, widget=forms.TextInput({"autofocus": True}))
    code = forms.CharField(
        required=False,
        max_length=40,
        widget=forms.TextInput({"autocomplete": "one-time-code", "autocapitalize": "none", "spellcheck": "false"}),
        help_text="Only if you have set up a second factor: the six digits that your authenticator app shows now. If "
        "you have lost your device, enter a recovery code, or ask an administrator to reset your second factor.",
    )
    is_shared = forms.BooleanField(
        label="This computer is shared",
        help_text="Your session ends after 30 minutes without use.",
        required=False,
    )

    def confirm_login_allowed(self, user: Any) -> None:
        super().confirm_login_allowed(user)
        if not factors.is_set_up(user):
            return
        request: Any = self.request
        code = self.cleaned_data.get("code", "")
        device = factors.accepting_device(request, user, code)
        if device is None:
            if code:  # counted like a wrong password
                credentials = {"username": user.get_username()}
                user_login_failed.send(sender=__name__, credentials=credentials, request=request)
            raise forms.ValidationError(factors.WRONG_CODE if code else "Enter the code of your second factor as well.")
        user.otp_device = device  # django-otp writes it to the session


class KeptFormLoginView(LoginView):
    """A login view with a form that was sent when a login was needed first."""

    authentication_form = LoginForm
    template_name = "sign_in/login.html"
    next_page = "admin:index"

    def get_initial(self) -> dict[str, Any]:
        session = self.request.session
        name = self.request.user.get_username() or session.get(NAME, "")
        return super().get_initial() | {"username": name, sessions.IS_SHARED: session.get(sessions.IS_SHARED)}

    def form_valid(self, form: Any) -> HttpResponse:
        user = form.get_user()
        token = self.request.META.get("CSRF_COOKIE")
        response = super().form_valid(form)
        if token and kept_forms.last_account(self.request) == user.pk:
            # Django has made a new token. The one before is that of this account's open forms in other windows.
            self.request.META["CSRF_COOKIE"] = token
        signed = self.request.POST.get(kept_forms.FIELD, "")
        if kept := kept_forms.KeptForm.from_signed(signed, user):
            response = staff_page(self.request, "sign_in/kept_form.html", "Send your form?", {"form": kept})
        elif signed:
            message = "The form from before the login was not sent: it is another account's, or older than a day."
            messages.warning(self.request, message)
        kept_forms.set_last_account(response, user.pk)
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return the context of Django's login page in the admin, with the kept form."""
        return {
            **admin.site.each_context(self.request),
            "title": "Log in",
            "kept_form": self.request.POST.get(kept_forms.FIELD, ""),
            "is_continued": bool(self.get_redirect_url()),
            **super().get_context_data(**kwargs),
        }


def login_page(request: HttpRequest, reason: str) -> HttpResponse:
    """Return the login page in place of another one, with the form that the request has sent, if it is short enough."""
    view = KeptFormLoginView()
    view.setup(request)
    context = {"reason": f"{reason} Nothing was changed.", "kept_form": ""}
    if _has_form(request):
        context["kept_form"] = kept_forms.signed(request) or ""
        context["reason"] += (
            " Log in with the same account, and you can send your form again."
            if context["kept_form"]
            else " Your form is too large to be kept. After the login, go back and send it again."
        )
    context["login_url"] = reverse("admin:login", query={"next": request.get_full_path()})
    form = LoginForm(request, initial=view.get_initial())
    return staff_page(request, view.template_name, "Log in", view.get_context_data(form=form, **context))
