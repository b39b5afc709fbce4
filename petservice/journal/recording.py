"""Recording of events in the journal."""

import os
import pwd
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.core.management.base import BaseCommand
from django.db import DatabaseError, connection, transaction
from django.db.models import Model
from django.http import HttpRequest
from django.utils import timezone

from petservice.client_address import address_of
from petservice.db.backend import backend
from petservice.db.folding import without_accents
from petservice.journal.models import Event, Item

# The account name of events that a management command caused.
COMMAND = "command"

Values = dict[str, Any]


class Change(NamedTuple):
    """The change of one record: the values of the changed fields, or a message if there are none."""

    record_id: str
    record_name: str
    before: Values | None = None
    after: Values | None = None
    message: str = ""
    version: int | None = None  # of the record after the change


def add_event(
    request: HttpRequest | None,
    kind: Event.Kind,
    *,
    target: Model | type[Model] | None = None,
    message: str = "",
    changes: Sequence[Change] = (),
    count: int | None = None,
    account: Any = None,
    permissions: Sequence[str] = (),
    now: datetime | None = None,
) -> Event:
    """Add an event to the journal in the current transaction, and return it.

    `target` is the changed record, or the model of the records in `changes`. `count` is the number of records if these
    are not recorded. The account is by default that of the request, whose user must be logged in then. Commands have no
    request, so their message ends with the operating system user. Staff with all of the `permissions` can undo the
    event for an hour. Records that end with their values are in the trash for 30 days.
    Raises PermissionDenied if the account of the request was deactivated or has lost a permission in the meantime.
    """
    user = account or getattr(request, "user", None)
    if user is not None and account is None:  # the request may have waited for a lock
        present = get_user_model().objects.filter(pk=user.pk, is_active=True).first()
        if present is None or not user.get_all_permissions() <= present.get_all_permissions():
            raise PermissionDenied
    if isinstance(target, Model) and not changes:
        changes = [Change(str(target.pk), str(target))]
    event = Event.objects.create(
        at=now or timezone.now(),
        kind=kind,
        account=user,
        account_name=user.get_username() if user else COMMAND,
        address=None if request is None else address_of(request),
        record_type=type_of(target),
        count=len(changes) or 1 if count is None else count,
        message=message if request is not None else with_system_user(message),
        permissions=" ".join(permissions),
    )
    _add_items(event, changes)
    return event


def add_event_of_command(command: BaseCommand, kind: Event.Kind, done: str, **event: Any) -> None:
    """Record what a command has done, or write to the terminal that the audit cannot be written, but that it is done.

    A full disk does not fail the command, because its result may be needed for repairs.
    """
    try:
        with transaction.atomic():
            add_event(None, kind, **event)
    except DatabaseError as error:
        command.stderr.write(f"The audit cannot be written ({str(error).strip()}). {done}")


def _add_items(event: Event, changes: Sequence[Change]) -> None:
    columns = ("event_id", "record_id", "record_name", "before", "after", "message", "version")
    columns_of_trash = ("in_trash_until", "folded_name")
    until = connection.ops.adapt_datetimefield_value(event.at + Item.TRASH_PERIOD)
    rows = [
        (event.pk, pk, name[:255], _json(before), _json(after), *others)
        + ((until, without_accents(name)) if before and after is None else (None, None))
        for pk, name, before, after, *others in changes
    ]
    # Ten thousand model instances would take longer than the statement.
    backend().copy_rows(Item._meta.db_table, columns + columns_of_trash, [rows], refresh_statistics=False)


def _json(values: Values | None) -> str | None:
    return None if values is None else orjson.dumps(values).decode()


def with_system_user(message: str) -> str:
    """Return the message of a command's event, with the operating system user that ran the command."""
    uid = os.getuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:  # an account of a container, for example
        name = str(uid)
    return f"{message} Run by the operating system user {name}.".strip()


def type_of(target: Model | type[Model] | None) -> str:
    """Return the name of a model in the journal. A staff account is a proxy of a user, so it has the name of users."""
    if target is None or target._meta.concrete_model is None:
        return ""
    return target._meta.concrete_model._meta.label_lower
