from django.db import migrations


class Migration(migrations.Migration):
    """Sessions end in Django's table of sessions. No release had the versions."""

    dependencies = [("accounts", "0002_password_links")]

    operations = [migrations.DeleteModel("SessionVersion")]
