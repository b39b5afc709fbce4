from django.db import migrations, models

from petservice.db.folding import fold

# Number of rows that are read and written together.
BATCH = 2000


def fill(apps, schema_editor):
    """Fold the names of the records in the trash."""
    trash = apps.get_model("journal", "Item").objects.filter(in_trash_until__isnull=False).order_by("pk")
    last = 0
    while batch := [*trash.filter(pk__gt=last).values_list("pk", "record_name")[:BATCH]]:
        with schema_editor.connection.cursor() as cursor:
            folded = [(fold(name), pk) for pk, name in batch]
            cursor.executemany("UPDATE journal_item SET folded_name = %s WHERE id = %s", folded)
        last = batch[-1][0]


class Migration(migrations.Migration):
    atomic = False  # so that a long trash locks no table

    dependencies = [
        ("journal", "0004_record_types"),
    ]

    operations = [
        migrations.AddField(
            model_name="item",
            name="folded_name",
            field=models.TextField(editable=False, null=True),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
