"""Refuses to start a shop with the secrets of the templates in deploy/, which everybody knows, or with none."""

import re
from collections.abc import Sequence

import environ
from django.core.exceptions import ImproperlyConfigured

SECRETS = (
    "SECRET_KEY",
    "DATABASE_URL",
    "DIRECT_DATABASE_URL",
    "OWNER_DATABASE_URL",
    "REPLICA_DATABASE_URL",
    "SECKILL_REDIS_URL",
    "REDIS_URL",
    "CELERY_BROKER_URL",
    "EMAIL_URL",
)
# What stands in capitals in stampede.env.example, owner.env.example and secret.example.yaml.
OF_A_TEMPLATE = re.compile(r"A-LONG-RANDOM-TEXT|\b[A-Z]+-PASSWORD\b")
# Behind TLS it is a real shop: its key signs sessions, passes and links.
SECRET_KEY_LENGTH_MIN = 32


def refuse_templates(env: environ.Env, *, https: bool) -> None:
    """Raises ImproperlyConfigured, with the name of the variable and without its value."""
    for name in SECRETS:
        if OF_A_TEMPLATE.search(env.str(name, default="")):
            raise ImproperlyConfigured(f"{name} is still that of the template. Put a secret of your own in its place.")
    if https and len(env.str("SECRET_KEY", default="")) < SECRET_KEY_LENGTH_MIN:
        raise ImproperlyConfigured(
            f"With HTTPS=1, SECRET_KEY needs {SECRET_KEY_LENGTH_MIN} characters or more: it signs sessions and passes."
        )


def check_stripe(providers: Sequence[str], *, secret_key: str, webhook_secret: str) -> None:
    """Raises ImproperlyConfigured. With an empty webhook secret anybody could sign that an order is paid."""
    if "stripe" in providers and not (secret_key and webhook_secret):
        raise ImproperlyConfigured("PAYMENT_PROVIDERS has stripe: set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET.")
