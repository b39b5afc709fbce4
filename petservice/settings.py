"""All settings. Those that differ between installations come from petservice.configuration.environment."""

from datetime import timedelta
from typing import Any

from csp.constants import NONE, SELF

from petservice import __version__
from petservice.configuration.environment import *  # noqa: F403

INSTALLED_APPS = [
    "petservice",
    "petservice.guides",
    "petservice.backoffice",  # before the admin, because it replaces some of its templates
    "petservice.accounts",
    "petservice.apikeys",
    "petservice.sign_in",
    "petservice.journal",
    "petservice.transfer",
    "pets",
    "store",
    "petservice.backoffice.apps.AdminConfig",  # django.contrib.admin with our dashboard
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "csp",
    "axes",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
]

MIDDLEWARE = [
    # First, so that the responses and exceptions of all others get the error envelope.
    "petservice.middleware.EnvelopeMiddleware",
    # Before all that may refuse a page, because the refusal is a page and needs the policy too.
    "petservice.middleware.PageMiddleware",
    "petservice.middleware.RefusalMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    # Last, because it replaces the login's response by the lockout page.
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "petservice.urls"
WSGI_APPLICATION = "petservice.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# The API, logs and commands run in UTC. Pages run in the store's zone (petservice.middleware.PageMiddleware).
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = "petservice.configuration.formats"

STATIC_URL = "/static/"
# Files are served from the installed packages, so that the first start needs no collectstatic.
WHITENOISE_USE_FINDERS = True

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",  # first, so that no password is checked during a lockout
    "django.contrib.auth.backends.ModelBackend",
]
# Failed logins are counted per account and client address. So a stranger who guesses passwords locks out neither the
# account's owner at another address, nor other accounts at the same address.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_CLIENT_IP_CALLABLE = "petservice.sign_in.login_limits.counted_address"
AXES_LOCKOUT_CALLABLE = "petservice.sign_in.login_limits.locked_out"
AXES_HANDLER = "petservice.sign_in.login_limits.LoginAttempts"
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
# Account names are left out of the log, because people sometimes type their password into the name field.
AXES_SENSITIVE_PARAMETERS = ["username"]

# Second factors. Wrong codes count like wrong passwords (petservice.sign_in.login_limits). After wrong codes from all
# addresses, django-otp also waits, twice as long for each: 0.5 seconds after 10, 17 minutes after 21. Recovery
# codes cannot be guessed, and so need no wait, in which someone elsewhere could lock out the owner.
OTP_TOTP_ISSUER = f"Pet service ({ENVIRONMENT})"
OTP_TOTP_THROTTLE_FACTOR, OTP_STATIC_THROTTLE_FACTOR = 0.001, 0

# The end of a session is set at its login (petservice.sign_in.sessions). This is the age of sessions without one.
SESSION_COOKIE_AGE = 12 * 3600

# The scheme comes from the server, or from the trusted proxies (petservice.wsgi).
# RefusalMiddleware refuses plain HTTP where HTTPS is required, and never redirects.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = REQUIRE_HTTPS
CSRF_COOKIE_HTTPONLY = True
SECURE_HSTS_SECONDS = 31_536_000 if REQUIRE_HTTPS else 0  # a year
# Browsers apply this header over HTTPS and at loopback addresses only, and log a warning elsewhere.
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin" if REQUIRE_HTTPS else None
CSRF_FAILURE_VIEW = "petservice.backoffice.error_views.csrf_failure"
# The policy that PageMiddleware sends. Pages may load files of this host, and the data: images of Swagger UI's style
# sheet and of the QR code for a second factor. Inline scripts, inline styles and eval are forbidden.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    }
}
SILENCED_SYSTEM_CHECKS = [
    "fields.E120",  # of the id of a pet, which has its type on both databases, but none if DATABASE_URL is unusable
    "security.W005",  # HSTS for subdomains, on which other services may run
    "security.W008",  # SECURE_SSL_REDIRECT: plain HTTP is refused, not redirected
    "security.W021",  # HSTS preload is a decision of the domain's owner
]

# The API. Every view requires a key, unless it sets other classes.

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["petservice.apikeys.authentication.APIKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["petservice.apikeys.permissions.HasAccess"],
    "DEFAULT_THROTTLE_CLASSES": ["petservice.apikeys.throttling.RequestsPerMinute"],
    "DEFAULT_RENDERER_CLASSES": ["petservice.api.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["petservice.api.parsers.JSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "petservice.api.parsers.ContentNegotiation",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "petservice.api.errors.exception_handler",
    "URL_FORMAT_OVERRIDE": None,
}
if DEBUG:
    # The browsable API for administrators who are logged in.
    REST_FRAMEWORK["DEFAULT_AUTHENTICATION_CLASSES"] += ["rest_framework.authentication.SessionAuthentication"]
    REST_FRAMEWORK["DEFAULT_RENDERER_CLASSES"] += ["rest_framework.renderers.BrowsableAPIRenderer"]

SPECTACULAR_SETTINGS = {
    "TITLE": "pet service API",
    "VERSION": __version__,
    "CONTACT": {"name": "The pet service team"},
    "TAGS": [
        {"name": "Pets", "description": "Pet records: list, create, fetch."},
        {"name": "Store", "description": "How many pets are available, pending and sold."},
    ],
    "OAS_VERSION": "3.0.3",
    "SERVERS": [{"url": "/v1", "description": "Version 1"}],
    "SCHEMA_PATH_PREFIX": "/v1",
    "SCHEMA_PATH_PREFIX_TRIM": True,
    "SORT_OPERATION_PARAMETERS": False,  # generated clients keep this order for function parameters: limit first
    "ENUM_NAME_OVERRIDES": {
        "ErrorCode": "petservice.api.schema.ERROR_CODES",
        "HealthStatus": ["ok"],
    },
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,  # it would list each value twice
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "petservice.guides.openapi.complete",
    ],
}

# One line for each event on standard error. A traceback follows its line, or is a field of the JSON object.
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"refusals": {"()": "petservice.monitoring.logs.RefusalFilter"}},
    "formatters": {
        "line": {
            "()": "petservice.monitoring.logs.LineFormatter",
            "fmt": "%(asctime)s %(levelname)s %(name)s %(process)d [%(request_id)s] %(message)s",
        },
        "json": {"()": "petservice.monitoring.logs.JSONFormatter"},
    },
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT, "filters": ["refusals"]},
    },
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {
        # Without handlers, because Django's own would write each line a second time, or send it by mail.
        "django": {"handlers": []},
        # Errors of clients are not logged, only crashes.
        "django.request": {"level": "ERROR"},
        # Only failed logins and lockouts.
        "axes": {"level": "WARNING"},
    },
}
DEFAULT_EXCEPTION_REPORTER_FILTER = "petservice.monitoring.debug_pages.SecretsFilter"
