"""The commands of the Containerfile work in its order, as an ordinary user and on a read-only file system.

There is no container engine here. The test runs each instruction in a mount namespace of its own, with Python where the
official image has it.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.running.checkout import copy_checkout, unpack_pinned_packages
from tests.service import ROOT, free_port

pytestmark = [
    pytest.mark.long,
    pytest.mark.installation,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount"),
]

CONTAINERFILE = ROOT / "petservice" / "deploy" / "Containerfile"
BASE, HOME = shlex.quote(sys.base_prefix), Path.home()
AS_USER = "setpriv --reuid=10001 --regid=10001 --clear-groups"
# The build needs no rights of root. The folders that it may change are in memory, and have only unpacked packages.
PREPARE = f"""
mount -t tmpfs none /opt && cp -r "$1" /opt/petservice && chown -R 10001:10001 /opt
mount -t tmpfs none /var/lib
mkdir /var/lib/etc && cp -a /etc/. /var/lib/etc && mount --bind /var/lib/etc /etc
mount --bind {BASE} /usr/local
# Python finds some of its libraries by the path that it was built for, which can be in root's home.
if [[ {BASE} == {HOME}/* ]]; then
    mount -t tmpfs none -o mode=755 {HOME} && mkdir -p {BASE} && mount --bind /usr/local {BASE}
fi
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=2 HOME=/opt
"""
READ_ONLY = """
mount -t tmpfs none /tmp && chmod 1777 /tmp
mount -t tmpfs none /dev/shm && chmod 1777 /dev/shm
mount --bind /var/lib/petservice /var/lib/petservice
for folder in /opt /var/lib /etc /usr/local /; do mount -o remount,bind,ro "$folder"; done
cd /
"""
USE = """
$run "${start[@]}" >/tmp/printed & service=$!
# A Python for each attempt of the health check would take much of the processor while the service migrates.
until (: </dev/tcp/127.0.0.1/$port) 2>/dev/null; do kill -0 $service; sleep 0.1; done
until $run "${check[@]}" 2>/dev/null; do kill -0 $service; sleep 0.1; done
key=$(grep -o 'pets_test_[[:alnum:]]*' /tmp/printed | head -1)
$run python -c "import sys, urllib.request as http
request = http.Request(sys.argv[1] + '/v1/pets', b'{\\"name\\": \\"Rex\\"}')
request.add_header('X-API-Key', sys.argv[2]); request.add_header('Content-Type', 'application/json')
print(http.urlopen(request).status)" "$url" "$key"
if $run touch /opt/petservice/file 2>/dev/null; then echo "the file system can be written"; fi
kill -TERM $service
wait $service
"""


class Instruction(NamedTuple):
    """An instruction of a Containerfile, such as RUN, and its text."""

    name: str
    text: str


def instructions() -> list[list[Instruction]]:
    """Return the instructions of each stage."""
    text = re.sub(r"^#.*\n", "", CONTAINERFILE.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    found = [Instruction(*line.split(maxsplit=1)) for line in text.splitlines() if line.strip()]
    starts = [number for number, instruction in enumerate(found) if instruction.name == "FROM"]
    return [found[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]


def script(context: Path, port: int) -> str:
    """Return the commands of both stages, and the use of the service that they make."""
    build, run = instructions()
    lines = ["set -euo pipefail", PREPARE, *(_command(one, context, AS_USER) for one in build)]
    lines += [_command(one, context, "") for one in run]
    texts = {one.name: one.text.replace(":8000", f":{port}") for one in run}
    user, group = texts["USER"].split(":")
    start = json.loads(texts["ENTRYPOINT"]) + json.loads(texts["CMD"])
    check = json.loads(texts["HEALTHCHECK"].partition("CMD ")[2])
    assert texts["STOPSIGNAL"] == "SIGTERM"
    return "\n".join(
        [
            *lines,
            READ_ONLY,
            f'run="setpriv --reuid={user} --regid={group} --clear-groups --no-new-privs env -i {texts["ENV"]}"',
            f"start=({shlex.join(start)}) check=({shlex.join(check)})",
            f"port={port} url=http://127.0.0.1:{port}",
            USE,
        ]
    )


def _command(instruction: Instruction, context: Path, prefix: str) -> str:
    name, text = instruction
    match name:
        case "WORKDIR":
            return f"{prefix} mkdir -p {text} && cd {text}"
        case "RUN":
            return f"{prefix} sh -c {shlex.quote(text)}"
        case "COPY" if "--from=" not in text:  # the other stage has the same file system here
            *sources, target = text.split()
            paths = " ".join(shlex.quote(str(context / source)) for source in sources)
            return f"cp -r {paths} {target} && chown -R 10001:10001 ."
    return ":"


def test_every_command_works(tmp_path: Path) -> None:
    copy_checkout(context := tmp_path / "context")
    unpack_pinned_packages(environment := tmp_path / "environment")

    command = ["unshare", "--mount", "bash", "-c", script(context, free_port()), "bash", environment]
    ended = subprocess.run(command, capture_output=True, text=True, cwd="/")

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.splitlines()[-1] == "201", ended.stdout
