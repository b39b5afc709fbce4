"""The parts of a start that can fail, which are tried before the database is used and before anything is printed."""

import errno
import os
import resource
import socket
import tempfile
from pathlib import Path
from typing import Any

from petservice.server.limits import MAX_CONNECTIONS

# Number of files that a worker opens in addition to its connections, with a margin: databases, Redis, uploads, logs.
_OTHER_FILES = 200


class StartError(Exception):
    """The error that the service cannot start, with a sentence for the operator."""


def require_temporary_directory() -> None:
    """Raise StartError if there is no directory for the temporary files of uploads."""
    try:
        tempfile.gettempdir()
    except OSError as error:
        raise StartError(
            f"There is no directory for temporary files ({error.strerror}): set TMPDIR to one that can be written, "
            "for example TMPDIR=/var/lib/petservice"
        ) from error


def allow_open_files() -> None:
    """Let workers open as many files as their connections need, if the operating system allows it.

    Otherwise a worker would accept no more connections at the system's usual 1,024 files, not even a health check.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + _OTHER_FILES
    if 0 <= soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard < 0 else min(wanted, hard), hard))


def try_addresses(config: Any) -> None:
    """Raise StartError if the service could not listen at one of its addresses."""
    if {"LISTEN_FDS", "GUNICORN_FD"} & os.environ.keys():  # the sockets exist already
        return
    try:
        addresses = config.address
    except RuntimeError as error:  # for example a port that is no number
        raise _refused("at this address", str(error)) from error
    for address in addresses:
        if isinstance(address, int):  # the descriptor of a socket
            continue
        try:
            _listen_for_a_moment(address)
        except (OSError, OverflowError, ValueError) as error:
            where = f"unix:{address}" if isinstance(address, str) else ":".join(map(str, address))
            reason = getattr(error, "strerror", None) or str(error)
            # Python adds the address in parentheses.
            raise _refused(f"at {where}", reason.partition(" (")[0]) from error


def _refused(where: str, reason: str) -> StartError:
    return StartError(
        f"The service cannot listen {where} ({reason}): try --bind with another address, "
        "for example --bind 127.0.0.1:9000"
    )


def _listen_for_a_moment(address: Any) -> None:
    if not isinstance(address, str):
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        socket.create_server(address[:2], family=family).close()
        return
    with socket.socket(socket.AF_UNIX) as client:
        if client.connect_ex(address) == 0:  # gunicorn would take the address away from the program that has it
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
    if Path(address).is_socket():
        Path(address).unlink()  # a killed service has left it
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
    Path(address).unlink()
