from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

_INDEXES = {
    "audit_type": ["record_type"],
    "audit_account_kind": ["account_name", "kind"],
    "audit_account_type": ["account_name", "record_type"],
    "audit_kind_type": ["kind", "record_type"],
    "audit_account_kind_type": ["account_name", "kind", "record_type"],
}


class Migration(migrations.Migration):
    atomic = False  # as CONCURRENTLY requires

    dependencies = [("audit", "0001_initial")]

    operations = [
        AddIndexConcurrently("auditentry", models.Index(fields=[*columns, "at", "id"], name=name))
        for name, columns in _INDEXES.items()
    ]
