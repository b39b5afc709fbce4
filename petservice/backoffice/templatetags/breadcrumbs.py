"""The breadcrumbs of all pages of the admin."""

from typing import Any

from django import template
from django.contrib import admin
from django.template.context import RequestContext
from django.urls import reverse
from django.utils.text import capfirst

register = template.Library()


@register.inclusion_tag("backoffice/breadcrumbs.html", takes_context=True)
def breadcrumbs(context: RequestContext) -> dict[str, Any]:
    """Lead from the dashboard to the list and the record, if the user may see them, and the page.

    Django's breadcrumbs also link to the pages of apps, which staff do not know.
    """
    record = next((context[name] for name in ("original", "object", "account") if context.get(name)), None)
    opts: Any = context.get("opts") or (record and record._meta)
    crumbs, current = [("Dashboard", reverse("admin:index"))], str(context.get("title") or "")
    may_see = opts and admin.site.get_model_admin(opts.model).has_view_or_change_permission(context["request"])
    if opts:
        list_name = capfirst(opts.verbose_name_plural)
        if "cl" in context:
            current = list_name
        elif may_see and current != list_name:
            crumbs.append((list_name, reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist")))
    if record and context.get("change"):
        current = str(record)
    elif record and may_see:
        url = reverse(f"admin:{opts.app_label}_{opts.model_name}_change", args=[record.pk])
        crumbs.append((str(record), url))
        current = current.removesuffix(f": {record}")
    return {"crumbs": crumbs, "current": current}
