from urllib.parse import urlencode

from django import template
from django.db.models import Model
from django.urls import reverse

from petservice.audit.recording import type_of

register = template.Library()


@register.simple_tag
def audit_url(record: Model) -> str:
    """Return the URL of the audit's entries about a record."""
    query = urlencode({"record_type": type_of(record), "record_id": record.pk})
    return f"{reverse('admin:audit_auditentry_changelist')}?{query}"


@register.simple_tag
def record_type_name(names: dict[str, str], record_type: str) -> str:
    """Return the name of a record's model for people, or the name in the audit if the model has no pages."""
    return names.get(record_type, record_type)
