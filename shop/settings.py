"""All settings of the shop, read from the environment with typed readers that fail loudly.

`make run` writes `.stampede/env`; it is read here so that `manage.py` in a second terminal finds the same servers.
The real environment always wins over that file. Each variable is described in docs/settings.md.
"""

import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from shop.configuration import api_framework, demo_guard, password_rules, typed_readers
from shop.configuration.admin_theme import UNFOLD as UNFOLD
from shop.configuration.content_policy import content_policy
from shop.configuration.database_connections import databases
from shop.configuration.log_lines import logging_settings
from shop.configuration.message_broker import broker_settings, refuse_cluster
from shop.configuration.store_clients import check_promises, redis_cache
from shop.configuration.template_values import check_stripe, refuse_templates
from shop.configuration.typed_readers import at_least, rate

BASE_DIR = Path(__file__).resolve().parent.parent

env = typed_readers.strict_env()
# Where `make run` keeps its files: servers' data, logs, collected static files.
STAMPEDE_DIRECTORY = Path(env.str("STAMPEDE_DIRECTORY", default=str(BASE_DIR / ".stampede")))
given_environment = dict(os.environ)
env.read_env(STAMPEDE_DIRECTORY / "env")
demo_guard.forget_load_tests_of_the_file(given=given_environment, argv=sys.argv)

# --- What every installation must set ---------------------------------------------------------------------------
SECRET_KEY: str = env.str("SECRET_KEY")
SECRET_KEY_FALLBACKS: list[str] = env.list("SECRET_KEY_FALLBACKS", default=[])
DEBUG: bool = env.bool("DEBUG", default=False)
ALLOWED_HOSTS: list[str] = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS: list[str] = env.list("CSRF_TRUSTED_ORIGINS", default=[])

DATABASE_URL: str = env.str("DATABASE_URL")
# Where DATABASE_URL leads to a pooler in transaction mode: the same database without it, for locks and migrations.
DIRECT_DATABASE_URL: str = env.str("DIRECT_DATABASE_URL", default="")
# A standby from which pages and tables are read that may be some seconds old (shop/databases/replica.py).
REPLICA_DATABASE_URL: str = env.str("REPLICA_DATABASE_URL", default="")
SECKILL_REDIS_URL: str = env.str("SECKILL_REDIS_URL")
REDIS_URL: str = env.str("REDIS_URL")
BROKER_URL: str = env.str("CELERY_BROKER_URL", default="") or REDIS_URL
# While this file exists, /healthz answers 503, so that balancers send no new clients; everything is served as before.
DRAIN_FILE: str = env.str("DRAIN_FILE", default="")
# What Prometheus must show at /metrics; empty where a proxy hides that address.
METRICS_TOKEN: str = env.str("METRICS_TOKEN", default="")
# What workers and beat touch every five seconds, one file for each process; empty for none.
HEARTBEAT_FILE: str = env.str("HEARTBEAT_FILE", default="")
OTEL_EXPORTER_OTLP_ENDPOINT: str = typed_readers.http_address(env, "OTEL_EXPORTER_OTLP_ENDPOINT")
SENTRY_DSN: str = typed_readers.http_address(env, "SENTRY_DSN")

# --- The catalogue -----------------------------------------------------------------------------------------------
CURRENCY: str = typed_readers.currency(env, "SHOP_CURRENCY", default="CNY")
# A variant's stock is low at so many available units or fewer, where the variant has no number of its own.
LOW_STOCK_AT: int = at_least(0, env, "LOW_STOCK_AT", default=5, why="it is a number of units")
# Tables and pictures that staff upload are read in memory while the request waits.
IMPORT_BYTES_MAX: int = at_least(1, env, "IMPORT_BYTES_MAX", default=2_000_000, why="0 would refuse all tables")
IMPORT_ROWS_MAX: int = at_least(1, env, "IMPORT_ROWS_MAX", default=5_000, why="0 would refuse all tables")
PICTURE_BYTES_MAX: int = at_least(1, env, "PICTURE_BYTES_MAX", default=10_000_000, why="0 would refuse all pictures")

# --- The flash sale ----------------------------------------------------------------------------------------------
# A pass can be had this long before the opening, so that the opening itself sees only reservations. It lives longer.
SECKILL_PASS_LEAD_SECONDS: int = at_least(0, env, "SECKILL_PASS_LEAD_SECONDS", default=600, why="it is a time")
SECKILL_PASS_LIFE_SECONDS: int = at_least(
    SECKILL_PASS_LEAD_SECONDS + 1, env, "SECKILL_PASS_LIFE_SECONDS", default=900, why="it outlives the lead"
)
# An order that is written late can be paid for this long from then on, or for the sale's hold where that is shorter.
SECKILL_PAY_SECONDS_MIN: int = at_least(1, env, "SECKILL_PAY_SECONDS_MIN", default=120, why="paying takes time")
# While so many reservations of an item are not orders yet, its buyers get `unavailable`: half a minute for the workers.
SECKILL_BACKLOG_MAX: int = at_least(1, env, "SECKILL_BACKLOG_MAX", default=100_000, why="0 would refuse all")
# How many replicas of the store must have a yes before the buyer hears it, so that it survives the loss of the primary.
SECKILL_YES_REPLICAS: int = env.int("SECKILL_YES_REPLICAS", default=0)
SECKILL_YES_WAIT_MS: int = env.int("SECKILL_YES_WAIT_MS", default=500)
# A managed store that hides its settings and keeps confirmed writes, by name.
SECKILL_STORE_DURABILITY: str = env.str("SECKILL_STORE_DURABILITY", default="")
check_promises(SECKILL_YES_REPLICAS, wait_ms=SECKILL_YES_WAIT_MS, durability=SECKILL_STORE_DURABILITY)
# A sale leaves the reservation store this long after its last hold can have ended, eight days after its end. Tasks that
# have listed the items that can still change must be done before one of them is archived.
SECKILL_ARCHIVE_AFTER_SECONDS: int = at_least(
    3600, env, "SECKILL_ARCHIVE_AFTER_SECONDS", default=3 * 24 * 3600, why="tasks must be done before it"
)
# How many calls to reserve one web process answers in a second: pages that wait for an opening spread theirs by it.
SECKILL_CALLS_PER_SECOND: int = at_least(1, env, "SECKILL_CALLS_PER_SECOND", default=500, why="pages divide by it")
# Certain refusals, live figures and public pages are answered before Django is entered. Everything works without it.
GATE: bool = env.bool("GATE", default=True)
# Orders of the ordinary shop: how long units are held, how many may be unpaid, and bounds for guests, who are nobody.
CHECKOUT_HOLD_SECONDS: int = at_least(60, env, "CHECKOUT_HOLD_SECONDS", default=1800, why="paying takes time")
CHECKOUT_UNPAID_MAX: int = at_least(1, env, "CHECKOUT_UNPAID_MAX", default=3, why="0 would refuse all orders")
CHECKOUT_LINE_UNITS_MAX: int = at_least(1, env, "CHECKOUT_LINE_UNITS_MAX", default=20, why="0 would sell nothing")
GUEST_HOLD_SECONDS: int = at_least(60, env, "GUEST_HOLD_SECONDS", default=600, why="an address takes time to enter")
GUEST_UNPAID_BY_NETWORK_MAX: int = at_least(1, env, "GUEST_UNPAID_BY_NETWORK_MAX", default=10, why="0 bars guests")
GUEST_UNITS_BY_NETWORK_MAX: int = at_least(1, env, "GUEST_UNITS_BY_NETWORK_MAX", default=60, why="0 bars guests")
GUEST_SHARE_PERCENT: int = at_least(1, env, "GUEST_SHARE_PERCENT", default=50, why="0 bars guests")
# Sales open only on stores that keep what buyers are told (seckill/store/durability.py). This permits weaker ones.
SECKILL_ALLOW_WEAK_DURABILITY: bool = env.bool("SECKILL_ALLOW_WEAK_DURABILITY", default=False)
# Installs `bench`, whose commands make buyers, passes and sales for load tests. Never on in a real shop.
LOAD_TESTS: bool = env.bool("LOAD_TESTS", default=False)
# Staff may rehearse a sale: simulated buyers call SHOP_URL. Off, since they load the machines that real buyers use.
REHEARSALS: bool = env.bool("REHEARSALS", default=False)

# --- Limits ------------------------------------------------------------------------------------------------------
# How often an account, a client address or a mailbox may do something: docs/settings.md says which.
CANCEL_LIMIT_BY_NETWORK: str = rate(env, "CANCEL_LIMIT_BY_NETWORK", default="60/10minutes")
CANCEL_LIMIT: str = rate(env, "CANCEL_LIMIT", default="5/10minutes")
UNPAID_HOLD_LIMIT: str = rate(env, "UNPAID_HOLD_LIMIT", default="3/day")
CART_LIMIT: str = rate(env, "CART_LIMIT", default="120/minute")
CHECKOUT_LIMIT: str = rate(env, "CHECKOUT_LIMIT", default="10/10minutes")
CHECKOUT_LIMIT_BY_ADDRESS: str = rate(env, "CHECKOUT_LIMIT_BY_ADDRESS", default="30/10minutes")
FIND_ORDER_LIMIT: str = rate(env, "FIND_ORDER_LIMIT", default="5/10minutes")
PASS_LIMIT: str = rate(env, "PASS_LIMIT", default="30/minute")
REMINDER_LIMIT: str = rate(env, "REMINDER_LIMIT", default="20/10minutes")
REMINDER_LIMIT_BY_MAILBOX: str = rate(env, "REMINDER_LIMIT_BY_MAILBOX", default="3/day")
SEARCH_LIMIT: str = rate(env, "SEARCH_LIMIT", default="120/minute")
PASS_LIMIT_BY_NETWORK: str = rate(env, "PASS_LIMIT_BY_NETWORK", default="600/minute")
SIGN_UP_LIMIT: str = rate(env, "SIGN_UP_LIMIT", default="30/10minutes")
PASSWORD_RESET_LIMIT_BY_ADDRESS: str = rate(env, "PASSWORD_RESET_LIMIT_BY_ADDRESS", default="20/10minutes")
PASSWORD_RESET_LIMIT_BY_MAILBOX: str = rate(env, "PASSWORD_RESET_LIMIT_BY_MAILBOX", default="3/15minutes")
SIGN_IN_LIMIT_BY_NAME: str = rate(env, "SIGN_IN_LIMIT_BY_NAME", default="5/5minutes")
SIGN_IN_LIMIT_BY_ADDRESS: str = rate(env, "SIGN_IN_LIMIT_BY_ADDRESS", default="30/minute")

# --- Payments, delivery, mails -----------------------------------------------------------------------------------
# A real shop must choose, or its staff records what comes in. The simulated provider must be asked for by name.
PAYMENT_PROVIDERS: list[str] = env.list("PAYMENT_PROVIDERS", default=demo_guard.default_providers(given_environment))
demo_guard.check_providers(PAYMENT_PROVIDERS, given=given_environment)
# Where the shop is found: links in mails, the way back from payment pages, and where the simulated provider calls.
SHOP_URL: str = env.str("SHOP_URL", default=f"http://127.0.0.1:{env.int('PORT', default=8000)}").rstrip("/")
SHOP_NAME: str = env.str("SHOP_NAME", default="Stampede")
SHOP_ADDRESS: str = env.str("SHOP_ADDRESS", default="")
STRIPE_SECRET_KEY: str = env.str("STRIPE_SECRET_KEY", default="")
STRIPE_WEBHOOK_SECRET: str = env.str("STRIPE_WEBHOOK_SECRET", default="")
check_stripe(PAYMENT_PROVIDERS, secret_key=STRIPE_SECRET_KEY, webhook_secret=STRIPE_WEBHOOK_SECRET)
STRIPE_API_BASE: str = env.str("STRIPE_API_BASE", default="")
SIMULATED_WEBHOOK_SECRET: str = env.str("SIMULATED_WEBHOOK_SECRET", default=SECRET_KEY)
SIMULATED_DELIVERY: str = env.str("SIMULATED_DELIVERY", default="once")
SIMULATED_SLOW_SECONDS: int = env.int("SIMULATED_SLOW_SECONDS", default=5)
SIMULATED_LATE_SECONDS: int = env.int("SIMULATED_LATE_SECONDS", default=60)
SHOP_COUNTRY: str = typed_readers.country(env, "SHOP_COUNTRY", default="CN")
SHIPPING_ADDRESS_REQUIRED: bool = env.bool("SHIPPING_ADDRESS_REQUIRED", default=True)
# One address says how mails leave: smtp+tls://user:password@host:587, filemail:////directory, consolemail://
mail_server: dict[str, Any] = typed_readers.email_url(env, "EMAIL_URL", default="consolemail://")
EMAIL_BACKEND, EMAIL_FILE_PATH = mail_server["EMAIL_BACKEND"], mail_server["EMAIL_FILE_PATH"]
EMAIL_HOST, EMAIL_PORT = mail_server["EMAIL_HOST"], mail_server["EMAIL_PORT"]
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = mail_server["EMAIL_HOST_USER"], mail_server["EMAIL_HOST_PASSWORD"]
EMAIL_USE_TLS, EMAIL_USE_SSL = mail_server.get("EMAIL_USE_TLS", False), mail_server.get("EMAIL_USE_SSL", False)
# For each answer of the mail server. A mail has about ten of them, and a task may take a minute.
EMAIL_TIMEOUT: int = at_least(1, env, "EMAIL_TIMEOUT", default=5, why="an answer takes time")
DEFAULT_FROM_EMAIL: str = env.str("DEFAULT_FROM_EMAIL", default=f"{SHOP_NAME} <shop@localhost>")

# --- Django ------------------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "modeltranslation",
    "unfold",
    "unfold.contrib.filters",
    "unfold.contrib.import_export",
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "whitenoise.runserver_nostatic",
    "shop.configuration.static_files.NeededStaticFiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "rest_framework",
    "knox",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "imagekit",
    "import_export",
    "simple_history",
    "csp",
    "django_structlog",
    "shop",
    "seckill",
    "orders",
    "orders.payments.simulated",
    *(["bench"] if LOAD_TESTS else []),
    *(["shop.tracing"] if OTEL_EXPORTER_OTLP_ENDPOINT or SENTRY_DSN else []),
]

MIDDLEWARE = [
    "shop.http.page_policies.PagePolicies",
    "django.middleware.security.SecurityMiddleware",
    "shop.http.static_of_releases.StaticOfReleases",
    "shop.http.compression.Compression",
    "shop.http.request_log.RequestLog",
    "shop.accounts.sign_in_hint.SignInHintMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "shop.languages.page_language.PageLanguageMiddleware",
    "shop.http.missing_slash.MissingSlash",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "shop.accounts.second_factor.StaffSecondFactor",
    "simple_history.middleware.HistoryRequestMiddleware",
]

ROOT_URLCONF, WSGI_APPLICATION = "shop.urls", "shop.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

DATABASES: dict[str, Any] = databases(
    url=DATABASE_URL,
    direct_url=DIRECT_DATABASE_URL,
    replica_url=REPLICA_DATABASE_URL,
    owner_url=env.str("OWNER_DATABASE_URL", default=""),
    argv=sys.argv,
)

refuse_cluster(REDIS_URL, setting="REDIS_URL")
CACHES = {
    "default": redis_cache(REDIS_URL, timeout_seconds=1.0),
    # For connecting and for answering: even where both run out, the buyer gets `unavailable` within two seconds.
    "seckill": redis_cache(SECKILL_REDIS_URL, timeout_seconds=0.9, setting="SECKILL_REDIS_URL"),
    "none": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"},
    "cards": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 9_000}},
}
SESSION_ENGINE = "shop.accounts.session_store"

LANGUAGE_CODE = "en"
LANGUAGES = typed_readers.languages(env, "SHOP_LANGUAGES", default=["en", "zh-hans"])
MODELTRANSLATION_DEFAULT_LANGUAGE = LANGUAGE_CODE
MODELTRANSLATION_FALLBACK_LANGUAGES = (LANGUAGE_CODE,)
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LOCALE_PATHS = [BASE_DIR / "shop" / "locale"]
TIME_ZONE: str = typed_readers.zone(env, "TIME_ZONE", default="UTC")
USE_TZ = True
# Times in the admin; pages and mails of buyers write theirs with Babel.
FORMAT_MODULE_PATH = "shop.languages.staff_times"

STATIC_URL, STATIC_ROOT = "/static/", STAMPEDE_DIRECTORY / "static"
# Where images of all releases put theirs, so that each process has the files of the pages of the others.
STATIC_OF_RELEASES: str = env.str("STATIC_OF_RELEASES", default="")
# Uploaded pictures. With another storage (MEDIA_STORAGE, a class) the two say what that storage makes of them.
MEDIA_ROOT = env.str("MEDIA_ROOT", default=str(STAMPEDE_DIRECTORY / "media"))
MEDIA_URL = env.str("MEDIA_URL", default="/media/")
# Renditions of a picture are made when it is saved, never while a page is shown.
IMAGEKIT_DEFAULT_CACHEFILE_STRATEGY = "imagekit.cachefiles.strategies.Optimistic"
IMAGEKIT_CACHEFILE_DIR, IMAGEKIT_SPEC_CACHEFILE_NAMER = "renditions", "shop.pictures.rendition_names.rendition_name"
# Whether a rendition exists is asked of the storage: saving a picture must not need the cache server.
IMAGEKIT_CACHE_BACKEND = "none"
STORAGES = {
    "default": {
        "BACKEND": env.str("MEDIA_STORAGE", default="django.core.files.storage.FileSystemStorage"),
        "OPTIONS": env.json("MEDIA_STORAGE_OPTIONS", default={}),
    },
    "staticfiles": {"BACKEND": "shop.configuration.static_files.HashedStaticFiles"},
}

# --- Security ----------------------------------------------------------------------------------------------------
# How many proxies stand between buyers and the shop, each appending to X-Forwarded-For (shop/http/client_address.py).
TRUSTED_PROXIES: int = at_least(0, env, "TRUSTED_PROXIES", default=0, why="it is a number of proxies")
# Behind TLS set HTTPS=1: cookies only over TLS, redirects, HSTS for a day.
HTTPS: bool = env.bool("HTTPS", default=False)
refuse_templates(env, https=HTTPS)
SECURE_SSL_REDIRECT = HTTPS
# The proxy that ends TLS sets this header and must overwrite it in each request. Without it, redirects never end.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
# Load balancers and Prometheus ask the process itself, without TLS.
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz|metrics)$"]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = HTTPS
SECURE_HSTS_SECONDS, SECURE_HSTS_INCLUDE_SUBDOMAINS, SECURE_HSTS_PRELOAD = typed_readers.hsts(env, https=HTTPS)
# Subdomains and preloading are a choice (HSTS_SUBDOMAINS, HSTS_PRELOAD), which browsers keep for as long as they like.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
if not HTTPS:
    # shop.W002 says it in one sentence, in the reader's language.
    SILENCED_SYSTEM_CHECKS += ["security.W004", "security.W008", "security.W012", "security.W016"]
X_FRAME_OPTIONS, CSRF_FAILURE_VIEW = "DENY", "shop.http.problems.csrf_failure"
# No form of the shop is larger; the API has its own, smaller bound (shop/http/parsers.py).
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000

CONTENT_SECURITY_POLICY = content_policy(providers=PAYMENT_PROVIDERS, media_url=MEDIA_URL)

PASSWORD_HASHERS = password_rules.HASHERS
AUTH_PASSWORD_VALIDATORS = password_rules.password_rules(ask_breached=env.bool("BREACHED_PASSWORDS", default=False))
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
LOGIN_URL, LOGIN_REDIRECT_URL = "account_login", "home"
MESSAGE_STORAGE = "shop.http.fresh_messages.FreshMessages"

ACCOUNT_ADAPTER = "shop.accounts.allauth_adapter.AccountAdapter"
ACCOUNT_FORMS = {
    "login": "shop.accounts.allauth_forms.SignInForm",
    "signup": "shop.accounts.allauth_forms.SignUpForm",
    "reset_password": "shop.accounts.allauth_forms.PasswordResetForm",
    "reset_password_from_key": "shop.accounts.allauth_forms.NewPasswordForm",
    "set_password": "shop.accounts.allauth_forms.FirstPasswordForm",
    "change_password": "shop.accounts.allauth_forms.PasswordChangeForm",
    "reauthenticate": "shop.accounts.allauth_forms.PasswordAgainForm",
    "add_email": "shop.accounts.allauth_forms.NewAddressForm",
}
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email*", "password1*", "password2*"]
ACCOUNT_LOGOUT_REDIRECT_URL = "home"
# Buying does not wait for a mail. An unconfirmed address cannot do everything: shop/accounts/sign_in.py.
ACCOUNT_EMAIL_VERIFICATION = "optional"
ACCOUNT_EMAIL_CONFIRMATION_ANONYMOUS_REDIRECT_URL = "account_login"
ACCOUNT_EMAIL_CONFIRMATION_AUTHENTICATED_REDIRECT_URL = "account"
# An account has one address; a new one takes its place when it is confirmed.
ACCOUNT_CHANGE_EMAIL = True
# Signing up with an address that has an account looks like any other sign-up.
ACCOUNT_PREVENT_ENUMERATION = "strict"
# A browser that was left open must not give the account away: a change of the address asks for the password again,
# and the owner hears by mail of each change of password, address or second factor.
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_EMAIL_NOTIFICATIONS = True
# The shop limits sign-ins, sign-ups and password resets itself, by the rates above. Of allauth's limits, `login_failed`
# is for the codes of the second factor, and `confirm_email` for mails that ask one address to confirm itself.
ACCOUNT_RATE_LIMITS = {
    **dict.fromkeys(("login", "signup", "reset_password")),
    "login_failed": "5/5m/key",
    "confirm_email": "1/3m/key,6/d/key",
}
# Whether staff must have a second factor before the admin opens.
STAFF_SECOND_FACTOR: bool = env.bool("STAFF_SECOND_FACTOR", default=HTTPS)
MFA_FORMS = password_rules.CODE_FORMS
MFA_TOTP_ISSUER = SHOP_NAME
# A code of the step before is accepted: people type slowly, and phones' clocks are some seconds off.
MFA_TOTP_TOLERANCE = 1
# An unconfirmed address opens nothing, so it need not keep a second factor out.
MFA_ALLOW_UNVERIFIED_EMAIL = True

# --- Approvals and alerts ----------------------------------------------------------------------------------------
# Above these a second person must approve; empty: nobody must (orders/approvals/).
APPROVAL_REFUND_ABOVE: int | None = typed_readers.optional_amount(env, "APPROVAL_REFUND_ABOVE", currency=CURRENCY)
APPROVAL_UNITS_ABOVE: int | None = typed_readers.optional_number(env, "APPROVAL_UNITS_ABOVE")
APPROVAL_PERCENT_OFF_ABOVE: int | None = typed_readers.optional_number(env, "APPROVAL_PERCENT_OFF_ABOVE")
APPROVALS = {APPROVAL_REFUND_ABOVE, APPROVAL_UNITS_ABOVE, APPROVAL_PERCENT_OFF_ABOVE} != {None}
APPROVAL_HOURS: int = at_least(1, env, "APPROVAL_HOURS", default=24, why="somebody has to decide within it")
# Where alerts go; nowhere unless one of the two is set (orders/alerts/).
ALERT_MAILS: list[str] = typed_readers.mail_addresses(env, "ALERT_MAILS")
ALERT_WEBHOOK_URL: str = typed_readers.http_address(env, "ALERT_WEBHOOK_URL")
ALERTS = bool(ALERT_MAILS or ALERT_WEBHOOK_URL)
ALERT_LANGUAGE: str = typed_readers.one_of(env, "ALERT_LANGUAGE", default=LANGUAGE_CODE, allowed=dict(LANGUAGES))
ALERT_LAG_SECONDS: int = at_least(1, env, "ALERT_LAG_SECONDS", default=30, why="orders are written in batches")

# --- API ---------------------------------------------------------------------------------------------------------
REST_FRAMEWORK = api_framework.REST_FRAMEWORK
KNOX_TOKEN_MODEL = "shop.ApiToken"
REST_KNOX = {"AUTH_HEADER_PREFIX": "Bearer", "TOKEN_TTL": timedelta(days=7)}
SPECTACULAR_SETTINGS = api_framework.SPECTACULAR_SETTINGS

# --- Celery ------------------------------------------------------------------------------------------------------
CELERY_TASK_TIME_LIMIT, CELERY_WORKER_PREFETCH_MULTIPLIER = 60, 1
CELERY_TASK_ACKS_LATE = CELERY_TASK_REJECT_ON_WORKER_LOST = CELERY_TASK_IGNORE_RESULT = True
# Not by Celery: each task keeps and checks its connections (shop/background/queued_tasks.py).
CELERY_DB_REUSE_MAX = sys.maxsize // 2
CELERY_TASK_SERIALIZER, CELERY_ACCEPT_CONTENT = "json", ["json"]
CELERY_WORKER_MAX_MEMORY_PER_CHILD: int = env.int("WORKER_MEMORY_KB_MAX", default=250_000)
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
broker = broker_settings(BROKER_URL, task_seconds_max=CELERY_TASK_TIME_LIMIT)
CELERY_BROKER_URL, CELERY_BROKER_USE_SSL = broker["broker_url"], broker["broker_use_ssl"]
CELERY_BROKER_READ_URL, CELERY_BROKER_WRITE_URL = broker["broker_read_url"], broker["broker_write_url"]
CELERY_BROKER_TRANSPORT_OPTIONS = broker["broker_transport_options"]
CELERY_BROKER_CONNECTION_TIMEOUT = broker["broker_connection_timeout"]
CELERY_BROKER_HEARTBEAT, CELERY_WORKER_CONSUMER = broker["broker_heartbeat"], broker["worker_consumer"]
CELERY_TASK_DEFAULT_QUEUE_TYPE = broker["task_default_queue_type"]
CELERY_TASK_CREATE_MISSING_QUEUE_TYPE = broker["task_create_missing_queue_type"]
CELERY_TASK_ROUTES = ["shop.background.queued_tasks.queue_of"]
CELERY_BEAT_SCHEDULER = "shop.background.sweep_scheduler:SweepScheduler"

# --- Admin and logs ----------------------------------------------------------------------------------------------
# Logging the user would load the session, and make a query, on every request.
DJANGO_STRUCTLOG_USER_ID_FIELD = None
# That of a client is replaced before (shop/http/request_log.py).
DJANGO_STRUCTLOG_TRUST_UPSTREAM_REQUEST_ID = True
# Finding the address takes a tenth of the time of a refusal, and the proxy in front logs it anyway.
DJANGO_STRUCTLOG_IP_LOGGING_ENABLED = False
# Refusals are ordinary answers: in a stampede there are thousands a second. Errors have a line of their own.
DJANGO_STRUCTLOG_STATUS_4XX_LOG_LEVEL = DJANGO_STRUCTLOG_STATUS_5XX_LOG_LEVEL = 20

LOG_LEVEL: str = typed_readers.log_level(env, "LOG_LEVEL", default="WARNING")
LOGGING = logging_settings(level=LOG_LEVEL, as_json=env.bool("LOG_JSON", default=False))
