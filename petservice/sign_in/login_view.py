"""The way into the admin: the checks before each of its pages, and the login, by password and then by code.

The diagram in petservice/docs/architecture.md shows the way of a form that its session outlived.
"""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import get_user_model, login
from django.contrib.auth.forms import UsernameField
from django.contrib.auth.signals import user_login_failed
from django.contrib.auth.views import LoginView, redirect_to_login
from django.core import signing
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from petservice.admin_pages.staff_page import staff_page
from petservice.sign_in import factors, kept_forms, login_limits, reauthentication, second_factor_view, sessions

# Seconds for entering the code after the password.
_CODE_MAX_AGE = 600
# The key of a session under which it has the name that the login page begins with.
NAME = "name_for_login"
# The names of the admin's views that need no second factor.
_NEEDING_NO_FACTOR = ("logout", "jsi18n")
_SALT = "petservice.sign_in.password_checked"


def page_before(request: HttpRequest) -> HttpResponse | None:
    """Return the page that a person must get in place of the one that the request asks for, or None.

    The CSRF token of the request has been checked before.
    """
    if not admin.site.has_permission(request):
        return _login_page_with_form(request) if _has_form(request) else None  # Django redirects to the login
    sessions.continue_session(request.session)
    name = request.resolver_match.url_name if request.resolver_match else None
    user: Any = request.user
    if name in _NEEDING_NO_FACTOR or user.is_verified():
        return None
    if factors.is_set_up(user):  # since this session began, in another one
        return reauthentication.ask(request)
    if factors.is_required(user) and name != "second_factor":
        if _has_form(request):
            return second_factor_view.set_up_first(request)
        continue_at = request.get_full_path() if request.method == "GET" else reverse("admin:index")
        return redirect_to_login(continue_at, reverse("admin:second_factor"))
    return None


def _has_form(request: HttpRequest) -> bool:
    """Return whether a request has sent more than a CSRF token, and not the button that logs out."""
    is_logout = request.resolver_match is not None and request.resolver_match.url_name == "logout"
    return request.method == "POST" and not is_logout and (len(request.POST) > 1 or bool(request.FILES))


class LoginForm(AdminAuthenticationForm):
    """A login form that rejects names that are too long for an account and for the count of its attempts."""

    # Django limits the length in the browser only.
    username = UsernameField(max_length=150, widget=forms.TextInput({"autofocus": True}))
    is_shared = forms.BooleanField(
        label="This computer is shared",
        help_text="Your session ends after 30 minutes without use.",
        required=False,
    )


class TwoStepLoginView(LoginView):
    """A login view with a second step for the code, and with a form that was sent after the session had ended."""

    authentication_form = LoginForm
    template_name = "backoffice/login.html"
    next_page = "admin:index"
    # The signed form that the person had sent before, or an empty text.
    kept_form = ""
    # A sentence for people who had to log in again.
    reason = ""

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().setup(request, *args, **kwargs)
        self.kept_form = request.POST.get(kept_forms.FIELD, "")

    def get_initial(self) -> dict[str, Any]:
        return super().get_initial() | {"username": self.request.session.get(NAME, "")}

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.user.is_authenticated and (offer := self._offer_form(request.user)):
            return offer  # the page after the login was reloaded
        if "password_checked" in request.POST:
            return self._check_code(request, request.POST["password_checked"], request.POST.get("code", ""))
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        user, is_shared = form.get_user(), form.cleaned_data["is_shared"]
        if not factors.is_set_up(user):
            return self._log_in(user, is_shared)
        checked = [user.pk, user.get_session_auth_hash(), is_shared]
        return self._ask_for_code(signing.dumps(checked, salt=_SALT))

    def _ask_for_code(self, password_checked: str, error: str = "") -> HttpResponse:
        context = self.get_context_data(form=None, password_checked=password_checked, error=error)
        return TemplateResponse(self.request, "sign_in/code.html", context | {"title": "Enter your code"})

    def _check_code(self, request: HttpRequest, password_checked: str, code: str) -> HttpResponse:
        user, is_shared = _account_of(password_checked)
        if user is None:
            self.reason = "Too much time has passed since you entered your password. Log in again."
            return self.render_to_response(self.get_context_data(form=self.get_form_class()(request)))
        if login_limits.is_locked_out(request, user):
            return HttpResponse(status=429)  # replaced by the lockout page
        device = factors.accepting_device(request, user, code)
        if device is None:
            # Counted like a wrong password.
            user_login_failed.send(sender=__name__, credentials={"username": user.get_username()}, request=request)
            wrong = "This code is wrong, or it was used before. Enter a new code."
            return self._ask_for_code(password_checked, factors.PAUSED if factors.is_paused(user) else wrong)
        user.otp_device = device  # django-otp writes it to the session
        return self._log_in(user, is_shared)

    def _log_in(self, user: Any, is_shared: bool) -> HttpResponse:
        token = self.request.META.get("CSRF_COOKIE")
        login(self.request, user, backend=settings.AUTHENTICATION_BACKENDS[-1])
        if token and kept_forms.last_account(self.request) == user.pk:
            # Django has made a new token. The one before is that of this account's open forms in other windows.
            self.request.META["CSRF_COOKIE"] = token
        if is_shared:
            sessions.end_when_idle(self.request.session)
        response = self._offer_form(user)
        if response is None:
            response = HttpResponseRedirect(self.get_success_url())
            if self.kept_form:
                message = "The form from before the login was not sent: it is another account's, or older than a day."
                messages.warning(self.request, message)
        kept_forms.set_last_account(response, user.pk)
        return response

    def _offer_form(self, user: Any) -> HttpResponse | None:
        form = kept_forms.KeptForm.from_signed(self.kept_form, user)
        if form is None:
            return None
        return staff_page(self.request, "sign_in/kept_form.html", "Send your form?", {"form": form})

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return the context of Django's login page in the admin, with the kept form."""
        return {
            **admin.site.each_context(self.request),
            **super().get_context_data(**kwargs),
            "title": "Log in",
            "subtitle": None,
            "username": self.request.user.get_username(),
            "kept_form": self.kept_form,
            "reason": self.reason,
            "is_continued": bool(self.get_redirect_url()),
        }


def _account_of(password_checked: str) -> tuple[Any, bool]:
    """Return the account whose password was checked, unless that is too long ago or the password has changed since."""
    try:
        pk, auth_hash, is_shared = signing.loads(password_checked, salt=_SALT, max_age=_CODE_MAX_AGE)
    except signing.BadSignature:
        return None, False
    user = get_user_model().objects.filter(pk=pk, is_active=True, is_staff=True).first()
    return (user, is_shared) if user and user.get_session_auth_hash() == auth_hash else (None, False)


def _login_page_with_form(request: HttpRequest) -> HttpResponse:
    """Return the login page for a form that was sent without a valid session, with the form if it is short enough."""
    view = TwoStepLoginView()
    view.setup(request)
    view.kept_form = kept_forms.signed(request) or ""
    view.reason = "Your session has ended, or you logged out in another window. Nothing was changed. " + (
        "Log in with the same account, and you can send your form again."
        if view.kept_form
        else "Your form is too large to be kept. After the login, go back and send it again."
    )
    target = request.get_full_path()
    url = f"{reverse('admin:login')}?{urlencode({'next': target}, safe='/')}"
    context = view.get_context_data(form=LoginForm(request)) | {"login_url": url}
    return staff_page(request, view.template_name, "Log in", context)
