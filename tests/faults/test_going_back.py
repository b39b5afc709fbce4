"""An upgrade is undone on PostgreSQL as deployment.md says: the version before runs on the newer schema."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.running.checkout import install_revision
from tests.service import ROOT, SERVE, log_in, manage, running_service

pytestmark = pytest.mark.faults

# The commit of the last release, 1.0.0.
RELEASE = "4e2f3f4"


def run_released(folder: Path, *arguments: str) -> tuple[str, ...]:
    """Return a command of running_service that runs a management command of the release."""
    program = "import os, sys; os.chdir(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])"
    return ("-c", program, str(folder), ".venv/bin/python", "manage.py", *arguments)


def create(client: httpx.Client, name: str, **headers: str) -> dict[str, Any]:
    response = client.post("/v1/pets", json={"name": name, "tag": "cat"}, headers=headers)
    assert response.status_code == 201
    pet: dict[str, Any] = response.json()
    return pet


def assert_has(client: httpx.Client, pets: list[dict[str, Any]]) -> None:
    """Assert that the service is ready, and that it lists and counts exactly these pets."""
    assert client.get("/ready").status_code == 200
    assert client.get("/v1/pets").json() == pets
    assert client.get("/v1/store/inventory").json() == {"available": len(pets), "pending": 0, "sold": 0}


def test_nothing_is_lost_by_going_back_a_version_and_forward_again(tmp_path: Path, empty_postgresql_url: str) -> None:
    if subprocess.run(["git", "cat-file", "-e", RELEASE], cwd=ROOT).returncode:
        pytest.skip(f"this clone lacks the commit {RELEASE}")
    install_revision(RELEASE, released := tmp_path / "released")
    variables = {"DATABASE_URL": empty_postgresql_url}
    once = {"Idempotency-Key": "order-1"}
    before = {"command": run_released(released, "serve", "--migrate"), **variables}
    now = {"command": SERVE, **variables}
    with running_service(tmp_path, **before) as service:
        create_key = [sys.executable, *run_released(released, "create_api_key", "Acme")]
        key = subprocess.check_output(create_key, env=service.environment, text=True).strip()
        with service.client(key) as client:
            pets = [create(client, "Rex"), create(client, "Polly", **once)]

    with running_service(tmp_path, **now) as service, service.client(key) as client:
        assert_has(client, pets)
        pets.append(create(client, "Tom"))
        service.create_staff("ada", "a long one")

    without_migrating = {"command": run_released(released, "serve"), **variables}
    with running_service(tmp_path, **without_migrating) as service, service.client(key) as client:
        assert_has(client, pets)
        assert create(client, "Polly", **once) == pets[1]
        pets.append(create(client, "Zoë"))
        assert_has(client, pets)
        run = [sys.executable, *run_released(released, "reconcile_inventory")]
        recounted = subprocess.run(run, env=service.environment, check=True, capture_output=True, text=True)
        assert recounted.stdout.splitlines()[0] == "available: 4"
        log_in(client, "ada", "a long one", status=500)  # the admin of the release lets no one in
        refused = subprocess.run(create_key, env=service.environment, capture_output=True, text=True)
        assert "audit_auditentry" in refused.stderr

    with running_service(tmp_path, **now) as service, service.client(key) as client:
        assert_has(client, pets)
        assert create(client, "Polly", **once) == pets[1]
        log_in(client, "ada", "a long one")
        assert service.execute("SELECT count(*) FROM apikeys_apikey") == [(1,)]
    assert "corrected" not in manage("reconcile_inventory", **variables).stdout
