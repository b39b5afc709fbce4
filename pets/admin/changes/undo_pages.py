"""What undoes a change: a button in the message about it, the list of recent changes, and the page that asks."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from pets import undo
from pets.models import RecentChange
from pets.models.pet import count_of_pets
from pets.permissions import may_see_list
from petservice.admin_pages.mixins import ReadOnlyPages
from petservice.admin_pages.staff_page import staff_page
from petservice.admin_pages.wording import first_names
from petservice.api.validators import is_integer
from petservice.journal.models import Event
from petservice.journal.record_pages import items_of, page_of
from petservice.journal.templatetags.journal import isolated

# Maximum number of pets that change without a confirmation: about what a person can check in the list.
MAX_UNCONFIRMED = 20
_TOO_LATE = "This change was undone already, or it was made more than an hour ago. Nothing was changed."


def with_undo(model_admin: ModelAdmin, request: HttpRequest, message: Any, event: Event) -> SafeString:
    """Return a message about a change, with what undoes it: a button, or for many pets a link to a page that asks.

    Both lead back to the list with its present filters.
    """
    filters = QueryDict(model_admin.get_preserved_filters(request))
    url = reverse("admin:pets_recentchange_change", args=[event.pk], query=filters)
    if event.count > MAX_UNCONFIRMED:
        return format_html('{} <a class="undo" href="{}">Undo</a>', message, url)
    return format_html(
        '{} <form class="undo" method="post" action="{}"><input type="hidden" name="csrfmiddlewaretoken" value="{}">'
        "<button>Undo</button></form>",
        *(message, url, get_token(request)),
    )


@admin.register(RecentChange)
class UndoAdmin(ReadOnlyPages):
    """The pages of the changes of the last hour. Staff with the permissions that a change needed may undo it."""

    list_display = ("at", "account_name", "change", "undo_link")
    list_display_links = None
    list_select_related = ("undone_by",)
    empty_list = "There are no changes of the last hour that you may undo. A change can be undone here for an hour."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the changes that the user can undo now, and those that were undone."""
        changes = RecentChange.objects.of_undo_period()
        allowed = [
            permissions
            for permissions in changes.order_by().values_list("permissions", flat=True).distinct()
            if request.user.has_perms(permissions.split())
        ]
        return changes.filter(permissions__in=allowed)

    def change(self, change: RecentChange) -> str:
        return isolated(change.message)

    @admin.display(description="undo")
    def undo_link(self, change: RecentChange) -> str:
        if change.undone_by:
            return f"Undone by {change.undone_by.account_name}"
        url = reverse("admin:pets_recentchange_change", args=[change.pk])
        return format_html('<a href="{}" aria-label="Undo: {}">Undo</a>', url, change.message)

    def has_view_permission(self, request: HttpRequest, obj: RecentChange | None = None) -> bool:
        return may_see_list(request.user)

    # The page that undoes a change.

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Ask whether to undo a change, and undo it when the form is sent.

        An account that may add pets, and see none, undoes its additions, and gets to the dashboard in place of a list.
        """
        change = RecentChange.objects.of_undo_period().filter(pk=object_id).first() if is_integer(object_id) else None
        may_see = self.has_view_permission(request)
        if not (request.user.has_perms(change.permissions.split()) if change else may_see):
            raise PermissionDenied
        changes = "admin:pets_recentchange_changelist" if may_see else "admin:index"
        if change and not change.undone_by_id and request.method != "POST":
            until = change.at + RecentChange.UNDO_PERIOD
            context = page_of(request, items_of(change)) if may_see else {}
            context |= {"opts": self.opts, "event": change, "until": until, "changes": changes}
            return staff_page(request, "admin/pets/recentchange/undo.html", "Undo this change?", context)
        undone = undo.undo(request, change.pk) if change and request.method == "POST" else None
        if undone is None:
            self.message_user(request, _TOO_LATE, messages.WARNING)
            return redirect(changes)
        count, left_alone = undone
        if left_alone:
            names = first_names([f"“{name}”" for name in left_alone])
            self.message_user(request, f"Not undone for pets that have changed since: {names}.", messages.WARNING)
        if count:
            self.message_user(request, f"The change of {count_of_pets(count)} is undone.", messages.SUCCESS)
        # The filters of the list that showed the message.
        filters = QueryDict(request.GET.get("_changelist_filters", ""))
        page = "admin:pets_pet_changelist" if may_see else "admin:index"
        return redirect(reverse(page, query=filters))
