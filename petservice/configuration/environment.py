"""The settings that differ between installations. Each comes from an environment variable.

An invalid value is recorded in CONFIGURATION_ERRORS and replaced by a safe one. So petservice.checks reports all
mistakes together, instead of one for each start.
"""

import os
from pathlib import Path

from django.core.management.utils import get_random_secret_key
from environs import Env, EnvValidationError, validate

from petservice.client_address import Proxies, host_and_port
from petservice.configuration.data_dir import default_data_dir
from petservice.configuration.secret_key import kept_secret_key
from petservice.db.url import database_settings
from petservice.time_zone import zone

CONFIGURATION_ERRORS: list[str] = []

env = Env(eager=False)

ENVIRONMENT = env.str("PETSERVICE_ENVIRONMENT", "test")
LIVE = ENVIRONMENT == "live"
DEBUG = env.bool("DEBUG", False) or False
DATA_DIR = Path(env.str("PETSERVICE_DATA_DIR", "") or default_data_dir()).absolute()
REQUIRE_HTTPS = env.bool("PETSERVICE_REQUIRE_HTTPS", LIVE)
if REQUIRE_HTTPS is None:
    REQUIRE_HTTPS = True

SECRET_KEY = env.str("SECRET_KEY", "")
if not SECRET_KEY and not LIVE:
    try:
        SECRET_KEY = kept_secret_key(DATA_DIR)
    except OSError as error:
        CONFIGURATION_ERRORS.append(
            f"The data directory cannot be written ({error}): set PETSERVICE_DATA_DIR to one that can, "
            "for example PETSERVICE_DATA_DIR=/var/lib/petservice"
        )
# Django cannot load its settings without a key. petservice.checks refuses to start with this replacement.
SECRET_KEY_IS_MISSING = not SECRET_KEY
SECRET_KEY = SECRET_KEY or get_random_secret_key()
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", [] if LIVE else ["localhost", "127.0.0.1", "[::1]"]) or []
CSRF_TRUSTED_ORIGINS: list[str] = env.list("CSRF_TRUSTED_ORIGINS", []) or []

DATABASE_URL = env.str("DATABASE_URL", "")
try:
    DATABASES = {"default": database_settings(DATABASE_URL, data_dir=DATA_DIR)}
except ValueError as error:
    CONFIGURATION_ERRORS.append(str(error))
    DATABASES = {"default": {"ENGINE": "django.db.backends.dummy"}}

# The time zone of staff, in which pages show and read times.
_ZONE = env.str("PETSERVICE_TIME_ZONE", "") or "UTC"
try:
    STORE_TIME_ZONE = zone(_ZONE)
except ValueError:
    CONFIGURATION_ERRORS.append(
        f"PETSERVICE_TIME_ZONE={_ZONE!r} is not the name of a time zone; write for example "
        "PETSERVICE_TIME_ZONE=Europe/Berlin"
    )
    STORE_TIME_ZONE = zone("UTC")

# The Redis that counts requests of keys with a rate limit. Without it, no key can have one.
REDIS_URL = env.str("REDIS_URL", "")

# gunicorn reads the same variable and has the same default.
FORWARDED_ALLOW_IPS = env.str("FORWARDED_ALLOW_IPS", "127.0.0.1,::1")
try:
    TRUSTED_PROXIES = Proxies.parse(FORWARDED_ALLOW_IPS)
except ValueError as error:
    CONFIGURATION_ERRORS.append(
        f"FORWARDED_ALLOW_IPS={FORWARDED_ALLOW_IPS!r} cannot be read ({error}): name the addresses or networks of "
        "proxies, for example FORWARDED_ALLOW_IPS=10.0.0.7,10.1.0.0/24"
    )
    TRUSTED_PROXIES = Proxies.parse("")

# Seconds for which /ready announces a stop before it begins.
DRAIN_SECONDS = env.float("PETSERVICE_DRAIN_SECONDS", 0, validate=validate.Range(min=0, max=600))

# Days for which the audit keeps entries, or 0 for ever.
AUDIT_DAYS = env.int("PETSERVICE_AUDIT_DAYS", 730, validate=validate.Range(min=0, max=36_500))

# `line` for people, `json` for programs. The JSON log also has a line for each request.
LOG_FORMAT = env.str("PETSERVICE_LOG_FORMAT", "") or ("json" if LIVE else "line")
if LOG_FORMAT not in ("line", "json"):
    CONFIGURATION_ERRORS.append(
        f"PETSERVICE_LOG_FORMAT={LOG_FORMAT!r} is neither line nor json; write for example PETSERVICE_LOG_FORMAT=json"
    )
    LOG_FORMAT = "line"

# The address of a separate listener for /metrics. There is none by default.
METRICS_BIND = env.str("METRICS_BIND", "")
METRICS_ADDRESS: tuple[str, int] | None = None
try:
    METRICS_ADDRESS = host_and_port(METRICS_BIND) if METRICS_BIND else None
except ValueError as error:
    CONFIGURATION_ERRORS.append(
        f"METRICS_BIND={METRICS_BIND!r} cannot be read ({error}): write an address and a port, "
        "for example METRICS_BIND=127.0.0.1:9100"
    )

# The accounts that must set up a second factor: none, those that may change API keys or accounts, or all.
SECOND_FACTOR = env.str("PETSERVICE_SECOND_FACTOR", "") or "off"
if SECOND_FACTOR not in ("off", "keys", "all"):
    CONFIGURATION_ERRORS.append(
        f"PETSERVICE_SECOND_FACTOR={SECOND_FACTOR!r} is none of off, keys and all; "
        "write for example PETSERVICE_SECOND_FACTOR=keys"
    )
    SECOND_FACTOR = "all"

try:
    env.seal()
except EnvValidationError as error:
    CONFIGURATION_ERRORS += [
        f"{name}={os.environ.get(name)!r} cannot be read ({' '.join(map(str, messages))}); "
        "see petservice/docs/configuration.md"
        for name, messages in error.error_messages.items()  # type: ignore[union-attr]  # seal() raises with a mapping
    ]
