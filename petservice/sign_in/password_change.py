"""The page on which people change their own password."""

from typing import Any

from axes.models import AccessAttempt
from django.contrib.auth import authenticate, update_session_auth_hash
from django.contrib.auth.models import User
from django.contrib.auth.views import PasswordChangeView
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse_lazy

from petservice.journal.models import Event
from petservice.journal.recording import add_event
from petservice.sign_in.login_limits import counted_address


class OwnPasswordView(PasswordChangeView):
    """Django's page, on which a wrong present password counts as a failed login."""

    success_url = reverse_lazy("admin:password_change_done")

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        # Otherwise someone with a stolen session could guess without limit. During a lockout, the middleware of
        # django-axes replaces the response.
        present = request.POST.get("old_password")
        if present and authenticate(request, username=request.user.get_username(), password=present) is None:
            return self.form_invalid(self.get_form())
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        user: User = form.save(commit=False)
        text = "Password changed by the person."
        with transaction.atomic():
            # Only the password, because an administrator may have changed the account while it was hashed.
            user.save(update_fields=["password"])
            add_event(self.request, Event.Kind.ACCOUNT_CHANGED, target=user, message=text)
        AccessAttempt.objects.filter(username=user.get_username(), ip_address=counted_address(self.request)).delete()
        update_session_auth_hash(self.request, user)
        return HttpResponseRedirect(self.get_success_url())
