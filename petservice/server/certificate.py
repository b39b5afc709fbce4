"""The TLS certificate of the service: the master loads it, and its workers inherit what it has loaded."""

import logging
import ssl
import time
from typing import Any

from gunicorn import sock

from petservice.configuration.certificates import end_of_certificate

logger = logging.getLogger(__name__)

_DAY = 86_400


class Certificate:
    """The pair of TLS files that was loaded last."""

    def __init__(self, config: Any) -> None:
        """Load the files that gunicorn's configuration names. Raises OSError if they cannot be used."""
        self._config = config
        self._load()

    def _load(self) -> None:
        context: ssl.SSLContext = sock.ssl_context(self._config)
        self.context, self._end = context, end_of_certificate(self._config.certfile)

    def renew(self) -> None:
        """Load the files again. If they cannot be used, keep what was loaded, and log an error."""
        try:
            self._load()
        except OSError as error:
            logger.error(
                "The TLS files cannot be used, so the service keeps the certificate that it has, for %.1f days: %s",
                self.days_left(),
                described(self._config, error),
            )
        else:
            logger.info("The TLS files were loaded. The certificate is valid for %.1f days.", self.days_left())

    def days_left(self) -> float:
        """Return for how many more days the certificate is valid; below zero if it has expired."""
        return (self._end - time.time()) / _DAY


def described(config: Any, error: OSError) -> str:
    """Return which files cannot be used and why."""
    reason = getattr(error, "reason", None) or error.strerror or error
    return f"TLS_CERTFILE={config.certfile} and TLS_KEYFILE={config.keyfile} are no usable pair ({reason})"
