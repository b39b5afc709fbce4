"""Template tags of the audit, and of sentences with names of records."""

import re
from typing import Any

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

from petservice.journal.sentences import sentence

register = template.Library()

register.filter(sentence)
_QUOTED = re.compile("“([^”]*)”")


@register.filter
def isolated(text: Any) -> SafeString:
    """Return a sentence in which a quoted name has the direction of its own script, and the words around it theirs."""
    return mark_safe(_QUOTED.sub(r"“<bdi>\1</bdi>”", conditional_escape(text)))  # noqa: S308  # escaped


@register.filter
def history_url_name(record_type: str) -> str:
    """Return the name of the URL of a record's history, which the admin may lack."""
    return f"admin:{record_type.replace('.', '_')}_history"
