"""A reader of the log that pauses or falls behind delays no request and gets complete lines."""

import json
import os
import select
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from petservice.monitoring import line_writer
from petservice.monitoring.line_writer import LIMIT, LineWriter
from tests.service import ROOT, SERVE, TLS, free_port, responds
from tests.waiting import wait_until

pytestmark = pytest.mark.once


@pytest.mark.long
def test_reader_that_pauses_delays_no_request_and_gets_complete_lines(tmp_path: Path, migrated_url: str) -> None:
    port = free_port()
    environment = os.environ | {
        "PETSERVICE_DATA_DIR": str(tmp_path),
        "DATABASE_URL": migrated_url,
        "WEB_CONCURRENCY": "2",
        "PETSERVICE_LOG_FORMAT": "json",
    }
    command = [sys.executable, *SERVE, "--bind", f"127.0.0.1:{port}"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        responses = 0
        try:
            wait_until(lambda: responds(f"http://127.0.0.1:{port}"))
            with ExitStack() as stack:
                clients = [stack.enter_context(httpx.Client(trust_env=False, verify=TLS)) for _ in range(4)]
                for _ in range(250):  # about 250 KB of lines, more than the 64 KB of a pipe
                    for client in clients:
                        responses += client.get(f"http://127.0.0.1:{port}/v1/health").status_code == 200
        finally:
            process.terminate()
        assert process.stderr
        lines = [json.loads(line) for line in process.stderr.read().splitlines()]

    assert responses == 1000
    at_the_start = 1  # the request that the service answered first
    assert sum(line.get("route") == "/v1/health" for line in lines) == responses + at_the_start


def test_lines_beyond_the_buffer_limit_are_lost_and_counted() -> None:
    read, write = os.pipe()
    line = b"x" * 999 + b"\n"
    writer = LineWriter(write)
    written = 3 * LIMIT // len(line)
    for _ in range(written):
        writer.write_line(line)

    received = bytearray()
    reader = threading.Thread(target=lambda: received.extend(b"".join(iter(lambda: os.read(read, 65536), b""))))
    reader.start()
    writer.close()
    writer.write_line(b"late\n")
    os.close(write)
    reader.join()
    os.close(read)

    *lines, late = bytes(received).splitlines(keepends=True)
    notes = [int(json.loads(text)["message"].split()[0]) for text in lines if text.startswith(b"{")]
    assert late == b"late\n"
    assert notes
    assert {json.loads(text)["process"] for text in lines if text.startswith(b"{")} == {os.getpid()}
    assert sum(notes) + lines.count(line) == written
    assert len(lines) == lines.count(line) + len(notes)


def test_pipe_that_another_process_makes_non_blocking_gets_complete_lines() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    line = b"x" * 999 + b"\n"
    writer = LineWriter(write)
    for _ in range(200):  # more than the 64 KB of a pipe
        writer.write_line(line)
    wait_until(lambda: not select.select([], [write], [], 0)[1])

    received = bytearray()
    while len(received) < 200 * len(line):
        assert select.select([read], [], [], 10)[0]
        received += os.read(read, 65536)
    writer.close()
    os.close(write)
    os.close(read)

    assert received == 200 * line


def test_closed_pipe_stops_no_writer() -> None:
    read, write = os.pipe()
    os.close(read)
    writer = LineWriter(write)
    writer.write_line(b"early\n")
    writer.close()
    writer.write_line(b"late\n")
    os.close(write)


def test_end_of_the_process_does_not_wait_for_a_reader_that_has_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_writer, "FLUSH_TIMEOUT", 0.1)
    read, write = os.pipe()
    writer = LineWriter(write)
    writer.write_line(b"x" * 100_000 + b"\n")
    writer.close()
    late = threading.Thread(target=writer.write_line, args=[b"late\n"], daemon=True)
    late.start()
    late.join(10)
    assert not late.is_alive()
    os.close(read)  # ends the thread
    writer._thread.join()
    os.close(write)
