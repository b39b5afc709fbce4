from django.db import migrations


class Migration(migrations.Migration):
    """Changes that can be undone and the trash are in the journal. No release had their tables."""

    dependencies = [("journal", "0002_carry_over"), ("pets", "0012_trash_key")]

    operations = [
        migrations.DeleteModel("ChangedPet"),
        migrations.DeleteModel("ChangeSet"),
        migrations.DeleteModel("TrashedPet"),
        migrations.CreateModel(
            name="RecentChange",
            fields=[],
            options={
                "verbose_name": "recent change",
                "proxy": True,
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
            bases=("journal.event",),
        ),
        migrations.CreateModel(
            name="TrashedPet",
            fields=[],
            options={
                "verbose_name": "deleted pet",
                "verbose_name_plural": "trash",
                "proxy": True,
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
            bases=("journal.item",),
        ),
    ]
