"""A file that computes the digest of its content while it is read, also from a pipe."""

import hashlib
import io
from typing import IO, Any


class HashedFile(io.RawIOBase):
    """A binary file that reads another one. After the end, `digest` is the SHA-256 of the complete content."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._file = file
        self._hash = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._file.read(len(buffer))
        buffer[: len(piece)] = piece
        self._hash.update(piece)
        return len(piece)

    @property
    def digest(self) -> str:
        """Return the digest of what has been read, in hexadecimal digits."""
        return self._hash.hexdigest()
