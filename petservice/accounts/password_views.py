"""The pages with which the holder of a password link sets a password, without being logged in."""

from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.forms import SetPasswordForm
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_safe

from petservice.accounts import services
from petservice.accounts.models import Account, PasswordLink
from petservice.admin_pages.failure_page import failure_page
from petservice.admin_pages.staff_page import staff_page
from petservice.audit.models import AuditEntry
from petservice.audit.recording import record
from petservice.sign_in import logins

# The key of a session that has the id of the link. The token itself is stored nowhere.
_LINK = "password_link"
_UNKNOWN = (
    "The link is incomplete, or it belongs to no account.",
    "Copy the whole link. If that does not help, ask an administrator for a new link.",
)
_NO_LINK = (
    "This page was opened without a link, or your browser does not keep cookies.",
    "Open the link that you got once more, and allow cookies for this site. If that does not help, ask an "
    "administrator for a new link.",
)


@require_safe
@never_cache
def open_link(request: HttpRequest, token: str) -> HttpResponse:
    """Put the link into the session, and redirect to a URL without its token, which the browser would pass on."""
    link = PasswordLink.objects.select_related("account").filter(digest=PasswordLink.digest_of(token)).first()
    if link is None:
        return _page(404, *_UNKNOWN)
    failure = _failure(link)
    if failure is not None:
        return failure
    # It stays there after its use, so that a second click on the button gets the page that says so.
    request.session[_LINK] = link.pk
    return HttpResponseRedirect(reverse("set-password"))


@sensitive_post_parameters()
@never_cache
def set_password(request: HttpRequest) -> HttpResponse:
    """Ask for the new password, and set it."""
    link = PasswordLink.objects.select_related("account").filter(pk=request.session.get(_LINK, 0)).first()
    if link is None:
        return _page(404, *_NO_LINK)
    failure = _failure(link)
    if failure is not None:
        return failure
    account = Account.objects.get(pk=link.account_id)
    form = SetPasswordForm(account, request.POST or None)
    if request.method != "POST" or not form.is_valid():
        context = {"account": account, "form": form, "is_nav_sidebar_enabled": False}
        return staff_page(request, "accounts/set_password.html", "Set a password", context)
    form.save(commit=False)  # before the transaction, because hashing is slow, and SQLite has one writer
    with transaction.atomic():
        services.lock(account.pk)
        failure = _failure(PasswordLink.objects.select_related("account").get(pk=link.pk))
        if failure is not None:
            return failure
        _use(request, link, account)
    messages.success(request, f"The password of {account} is set. Log in with it.")
    return HttpResponseRedirect(reverse("admin:login"))


def _use(request: HttpRequest, link: PasswordLink, account: Account) -> None:
    account.save(update_fields=["password"])
    PasswordLink.objects.filter(pk=link.pk).update(used_at=timezone.now())
    logins.unlock(account.get_username())
    text = "Password set with a link."
    LogEntry.objects.log_actions(account.pk, [account], CHANGE, text, single_object=True)
    record(request, AuditEntry.Kind.ACCOUNT_CHANGED, target=account, message=text, account=account)


def _failure(link: PasswordLink) -> HttpResponse | None:
    """Return the page that says why a link does not work, or None if it works."""
    if not link.account.is_active:
        reason = f"The account {link.account} is deactivated."
        return _page(403, reason, "If you need the account for your work, ask an administrator to reactivate it.")
    state = link.state(timezone.now())
    reasons = {
        PasswordLink.State.USED: (
            "This link was already used to set a password. It works only once.",
            "If you set the password yourself, log in with it. Otherwise ask an administrator for a new link.",
        ),
        PasswordLink.State.EXPIRED: ("This link is more than three days old.", "Ask an administrator for a new link."),
        PasswordLink.State.WITHDRAWN: (
            "An administrator has created a newer link, or has deactivated the account since.",
            "Use the newest link that you got. If you have none, ask an administrator for a new link.",
        ),
    }
    return _page(410, *reasons[state]) if state in reasons else None


def _page(status: int, reason: str, advice: str) -> HttpResponse:
    response = failure_page(status, "This link does not work", f"{reason} No password was changed.", advice)
    # The URL has a token, even if it is useless.
    response.headers["Referrer-Policy"] = "no-referrer"
    return response
