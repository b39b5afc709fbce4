"""Use a database as a client and as staff do, who log in. A management shell of a release runs this file."""

import os

from django.contrib.auth.models import Group, User
from django.test import Client

from pets.models import ChangeSet, Pet
from petservice.apikeys.models import APIKey

bob = User.objects.create_user("bob", password="a password of bob", is_staff=True)
bob.groups.set(Group.objects.all())
program = Client(headers={"host": "localhost", "x-api-key": os.environ["KEY"], "idempotency-key": "order-1"})
assert program.post("/v1/pets", {"name": "Polly"}, "application/json").status_code == 201
staff = Client(headers={"host": "localhost"})
staff.force_login(bob)
rex = Pet.objects.get(name="Rex")
page = f"/admin/pets/pet/{rex.pk}/change/"
assert staff.post(page, {"name": "Rex", "tag": "dog", "status": "sold"}).status_code == 302
pets = "/admin/pets/pet/?q=Max"
selection = {"select_across": "1", "_selected_action": Pet.objects.get(name="Max").pk}
assert staff.post(pets, {"action": "delete_selected", "post": "yes"} | selection).status_code == 302
assert not Pet.objects.filter(name="Max").exists()
available = "/admin/pets/pet/?status__exact=available"
mark = {"action": "mark_as_pending", "select_across": "1", "_selected_action": Pet.objects.get(name="Zoë").pk}
assert staff.post(available, mark).status_code == 302
undone = ChangeSet.objects.latest("created_at")
assert staff.post(f"/admin/pets/changeset/{undone.pk}/change/").status_code == 302
assert not Pet.objects.filter(status="pending").exists()
administrator = Client(headers={"host": "localhost"})
administrator.force_login(User.objects.create_superuser("ada"))
eve, key = User.objects.create_user("eve", is_staff=True), APIKey.objects.get()
for page, form in {
    f"accounts/account/{eve.pk}/deactivate": {},
    "auth/group/add": {"name": "Vets"},
    f"apikeys/apikey/{key.pk}/change": {"name": "Acme Ltd", "access": "write"},
}.items():
    assert administrator.post(f"/admin/{page}/", form).status_code == 302
