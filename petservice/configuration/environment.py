"""The settings that differ between installations. Each comes from an environment variable.

An invalid value is recorded in CONFIGURATION_ERRORS and replaced by the default. So a system check reports all mistakes
together (petservice.apps), instead of one for each start.
"""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TypeVar

from django.core.management.utils import get_random_secret_key
from environs import Env, EnvValidationError, validate
from platformdirs import user_data_path

from petservice.client_address import Proxies, host_and_port
from petservice.configuration.time_zone import zone
from petservice.db.url import database_settings

# The root of a clone, or site-packages.
_ROOT = Path(__file__).resolve().parent.parent.parent
_T = TypeVar("_T")

CONFIGURATION_ERRORS: list[str] = []

# Examples for the variables that environs checks, except truth values.
_EXAMPLES = {"PETSERVICE_DRAIN_SECONDS": "5", "PETSERVICE_AUDIT_DAYS": "730", "WEB_CONCURRENCY": "4", "PORT": "8000"}
_EXAMPLES |= {"PETSERVICE_ENVIRONMENT": "live", "PETSERVICE_LOG_FORMAT": "json", "PETSERVICE_SECOND_FACTOR": "keys"}

env = Env(eager=False)


def _record_error(name: str, value: str, reason: object, example: str) -> None:
    CONFIGURATION_ERRORS.append(f"{name}={value!r} cannot be read ({reason}); write for example {name}={example}")


def _parsed(name: str, default: str, parse: Callable[[str], _T], example: str) -> _T:
    """Return what `parse` makes of a variable. If it raises an error, record that and use the default."""
    value = env.str(name, default)
    try:
        return parse(value)
    except ValueError as error:
        _record_error(name, value, error, example)
        return parse(default)


def _listed(pattern: str, meaning: str) -> Callable[[str], list[str]]:
    """Return a parser of texts between commas. One that does not match the pattern would match no request."""

    def parse(text: str) -> list[str]:
        found = [part.strip() for part in text.split(",") if part.strip()]
        if wrong := [part for part in found if not re.fullmatch(pattern, part)]:
            raise ValueError(f"{wrong[0]!r} is no {meaning}")
        return found

    return parse


def _default_data_dir() -> Path:
    """Return `data` in a clone of the repository. Without a clone, return the platform's data directory of the user."""
    return _ROOT / "data" if (_ROOT / "manage.py").is_file() else user_data_path("petservice", appauthor=False)


def _kept_secret_key(data_dir: Path) -> str:
    """Return the generated key of a test environment, in `data_dir`/secret_key. Create it first if it is missing.

    Raises OSError if the file cannot be read or written.
    """
    path = data_dir / "secret_key"
    data_dir.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        # The key is written to a temporary file first, so that no other process reads half a key. If two processes
        # start together, one of them links its file to the final name, and the other reads that file.
        with NamedTemporaryFile("w", dir=data_dir, prefix="secret_key.") as draft:  # only its owner may read it
            draft.write(get_random_secret_key())
            draft.flush()
            with suppress(FileExistsError):
                path.hardlink_to(draft.name)
    return path.read_text()


ENVIRONMENT = env.str("PETSERVICE_ENVIRONMENT", "test", validate=validate.OneOf(("test", "live")))
LIVE = ENVIRONMENT == "live"
DEBUG = env.bool("DEBUG", False)
DATA_DIR = Path(env.str("PETSERVICE_DATA_DIR", "") or _default_data_dir()).absolute()
# A file that backup_database touches, so that the age of the last backup is known.
LAST_BACKUP = DATA_DIR / "last-backup"
REQUIRE_HTTPS = env.bool("PETSERVICE_REQUIRE_HTTPS", LIVE)

DATABASE_URL = env.str("DATABASE_URL", "")
DATABASES = {"default": {"ENGINE": "django.db.backends.dummy"}}  # until the settings are known to be usable
SECRET_KEY = env.str("SECRET_KEY", "")
try:
    if not SECRET_KEY and not LIVE:
        SECRET_KEY = _kept_secret_key(DATA_DIR)
    if not DATABASE_URL:
        DATA_DIR.stat()
    DATABASES = {"default": database_settings(DATABASE_URL, data_dir=DATA_DIR)}
except ValueError as error:
    CONFIGURATION_ERRORS.append(str(error))
except OSError as error:
    CONFIGURATION_ERRORS.append(
        f"The data directory cannot be used ({error}): run this as the account of the service, or set "
        "PETSERVICE_DATA_DIR to one that it can write, for example PETSERVICE_DATA_DIR=/var/lib/petservice"
    )
_HOSTS = [] if LIVE else ["localhost", "127.0.0.1", "[::1]"]
_hosts = _listed(r"\*|\.?[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]", "host name without scheme, port and path")
ALLOWED_HOSTS = _parsed("ALLOWED_HOSTS", "", _hosts, "pets.example.com") or _HOSTS
_origins = _listed(r"https?://[^\s/?#]+", "scheme and host without path")
CSRF_TRUSTED_ORIGINS = _parsed("CSRF_TRUSTED_ORIGINS", "", _origins, "https://pets.example.com")
if LIVE:  # a live service requires these, and they have no default
    _is_hard_to_guess = len(SECRET_KEY) >= 32 and len({*SECRET_KEY}) >= 5
    _required = {
        "SECRET_KEY is required in live, with 32 characters or more that nobody can guess; make one with "
        "python -c 'import secrets; print(secrets.token_urlsafe(50))'": _is_hard_to_guess,
        "ALLOWED_HOSTS is required in live: the names that clients use, for example "
        "ALLOWED_HOSTS=pets.example.com": ALLOWED_HOSTS,
        "DEBUG is refused in live, because it shows internals; unset DEBUG": not DEBUG,
        "PETSERVICE_REQUIRE_HTTPS is off, but live keys must not travel over plain HTTP; unset it": REQUIRE_HTTPS,
        "CSRF_TRUSTED_ORIGINS is required in live: where staff open the admin, for example "
        "CSRF_TRUSTED_ORIGINS=https://pets.example.com": CSRF_TRUSTED_ORIGINS,
    }
    CONFIGURATION_ERRORS += [text for text, is_met in _required.items() if not is_met]
# Django cannot load its settings without a key. The check of the errors refuses to start with this replacement.
SECRET_KEY = SECRET_KEY or get_random_secret_key()

# Whether `serve` answers the usual requests of the API by petservice.fastpath.
FAST_PATH = env.bool("PETSERVICE_FAST_PATH", True)

# The time zone of staff, in which pages show and read times.
STORE_TIME_ZONE = _parsed("PETSERVICE_TIME_ZONE", "UTC", zone, "Europe/Berlin")

# The Redis that counts requests of keys with a rate limit. Without it, no key can have one.
REDIS_URL = env.str("REDIS_URL", "")
if REDIS_URL:
    from redis import Redis  # takes a tenth of a second, which other services need not spend

    try:
        Redis.from_url(REDIS_URL).connection_pool.make_connection()  # opens no connection, but validates the options
    except (ValueError, TypeError):  # without the URL, which can contain a password
        CONFIGURATION_ERRORS.append(
            "REDIS_URL cannot be read: write for example REDIS_URL=redis://:password@redis.example.com:6379/0, "
            "rediss://... for TLS, or unix:///run/redis/redis-server.sock; the options after a ? are those of redis-py"
        )

# gunicorn reads the same variable and has the same default.
TRUSTED_PROXIES = _parsed("FORWARDED_ALLOW_IPS", "127.0.0.1,::1", Proxies.parse, "10.0.0.7,10.1.0.0/24")

# Seconds for which /ready announces a stop before it begins.
DRAIN_SECONDS = env.float("PETSERVICE_DRAIN_SECONDS", 0, validate=validate.Range(min=0, max=600))

# Days for which the audit keeps entries, or 0 for ever.
AUDIT_DAYS = env.int("PETSERVICE_AUDIT_DAYS", 730, validate=validate.Range(min=0, max=36_500))

# `line` for people, `json` for programs. The JSON log also has a line for each request.
LOG_FORMAT = env.str("PETSERVICE_LOG_FORMAT", "json" if LIVE else "line", validate=validate.OneOf(("line", "json")))

# The address of a separate listener for /metrics. There is none by default.
METRICS_ADDRESS = _parsed("METRICS_BIND", "", lambda text: host_and_port(text) if text else None, "127.0.0.1:9100")

# The accounts that must set up a second factor: none, those that may change API keys or accounts, or all.
SECOND_FACTOR = env.str("PETSERVICE_SECOND_FACTOR", "off", validate=validate.OneOf(("off", "keys", "all")))

# The files with which the service itself uses TLS.
_TLS_FILES = {name: env.str(name, "") for name in ("TLS_CERTFILE", "TLS_KEYFILE")}
for _name, _path in _TLS_FILES.items():
    if any(_TLS_FILES.values()) and not (Path(_path).is_file() and os.access(_path, os.R_OK)):
        _reason = "it is no readable file, and TLS needs both"
        _record_error(_name, _path, _reason, f"/etc/petservice/{_name.lower()}.pem")

# At least two workers, also on one core, so that one responds while the other starts or is replaced.
WORKERS = env.int("WEB_CONCURRENCY", max(2, min(os.cpu_count() or 1, 8)), validate=validate.Range(min=1, max=9999))

# gunicorn reads these itself.
env.int("PORT", None, validate=validate.Range(min=1, max=65535))
env.str("GUNICORN_CMD_ARGS", "")

try:
    env.seal()
except EnvValidationError as error:
    for _name, _messages in error.error_messages.items():  # type: ignore[union-attr]  # seal() raises with a mapping
        _record_error(_name, os.environ[_name], " ".join(map(str, _messages)), _EXAMPLES.get(_name, "1"))
