"""Staff without rights cannot find out which records exist: the pages of a record answer all ids alike."""

import re
import uuid
from typing import Any

import pytest
from django.contrib import admin
from django.db.models import Model
from django.urls import reverse

from tests.backoffice.staff import staff
from tests.backoffice.test_crawl import create_records

pytestmark = [pytest.mark.django_db, pytest.mark.once]

MISSING = {int: 10**6, str: "018f0000-0000-7000-8000-000000000000", uuid.UUID: uuid.UUID(int=1)}


def urls_of(model: type[Model], pk: Any) -> list[str]:
    """Return the URLs of a record's pages."""
    patterns = admin.site._registry[model].urls
    names = {
        pattern.name for pattern in patterns if re.search(r"<(path:object_id|(\w+:)?(pk|id))>", str(pattern.pattern))
    }
    return [reverse(f"admin:{name}", args=[pk]) for name in sorted(filter(None, names))]


def test_the_pages_of_a_record_answer_staff_without_rights_alike_for_all_ids() -> None:
    create_records()
    client = staff()
    unlike = []
    for model in admin.site._registry:
        record = model._default_manager.first()
        urls = urls_of(model, record.pk)
        assert len(urls) >= 3
        for existing, missing in zip(urls, urls_of(model, MISSING[type(record.pk)]), strict=True):
            for send in (client.get, client.post):
                statuses = [send(url).status_code for url in (existing, missing)]
                if statuses[0] != statuses[1]:
                    unlike.append((existing, send.__name__, statuses))

    assert unlike == []
