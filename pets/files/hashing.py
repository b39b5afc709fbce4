"""A file that computes the digest of its content while it is read, also from a pipe."""

import hashlib
import io
from typing import Any


class HashedFile(io.FileIO):
    """A binary file that a path or a descriptor names. Only `readinto`, which buffered readers use, hashes its content.

    A descriptor stays open when the file is closed.
    """

    def __init__(self, file: str | int) -> None:
        super().__init__(file, closefd=isinstance(file, str))
        self.hash = hashlib.sha256()

    def readinto(self, buffer: Any) -> int:
        size = super().readinto(buffer)
        self.hash.update(memoryview(buffer)[:size])
        return size
