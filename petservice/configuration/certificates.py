"""The validity of TLS certificates in files."""

from _ssl import _test_decode_cert  # type: ignore[attr-defined]  # nothing public reads a file's certificate
from ssl import cert_time_to_seconds

# Number of days before the end of a certificate from which an operator has to renew it.
FEW_DAYS = 14


def end_of_certificate(path: str) -> int:
    """Return the time at which the first certificate of a PEM file expires. Raises OSError if there is none."""
    return cert_time_to_seconds(_test_decode_cert(path)["notAfter"])
