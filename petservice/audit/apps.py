from django.apps import AppConfig


class AuditConfig(AppConfig):
    """The app of the audit."""

    name = "petservice.audit"
    label = "audit"
