"""A process does not start with a secret that everybody knows, or without one that keeps others out."""

import os
import re
from pathlib import Path
from unittest import mock

import environ
import pytest
from django.core.exceptions import ImproperlyConfigured

from shop.configuration.template_values import check_stripe, refuse_templates
from tests.steps.operating import settings_of

ROOT = Path(__file__).resolve().parents[3]
TEMPLATES = ("stampede.env.example", "owner.env.example", "kubernetes/secret.example.yaml")
SECRET = re.compile(r"^ *(\w+)(?:=|: )(.*(?:-PASSWORD|A-LONG-RANDOM-TEXT).*)$", re.MULTILINE)


def secrets_of_templates() -> list[tuple[str, str]]:
    text = "\n".join((ROOT / "deploy" / name).read_text() for name in TEMPLATES)
    return sorted(set(SECRET.findall(text)))


def test_a_secret_of_a_template_is_refused_by_its_name_and_no_process_starts_with_it() -> None:
    found = secrets_of_templates()
    assert {name for name, _value in found} >= {"SECRET_KEY", "DATABASE_URL", "OWNER_DATABASE_URL"}
    for name, value in found:
        with (
            mock.patch.dict(os.environ, {name: value}),
            pytest.raises(ImproperlyConfigured, match=f"{name} is still that of the template") as refusal,
        ):
            refuse_templates(environ.Env(), https=False)
        assert value not in str(refusal.value)
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY is still that of the template"):
        settings_of({**os.environ, "SECRET_KEY": "A-LONG-RANDOM-TEXT"})


def test_a_short_key_is_refused_behind_tls() -> None:
    with mock.patch.dict(os.environ, {"SECRET_KEY": "short"}):
        refuse_templates(environ.Env(), https=False)
        with pytest.raises(ImproperlyConfigured, match="32 characters or more"):
            refuse_templates(environ.Env(), https=True)


def test_stripe_without_a_secret_is_refused() -> None:
    check_stripe(["simulated"], secret_key="", webhook_secret="")
    check_stripe(["stripe"], secret_key="sk_test_x", webhook_secret="whsec_x")
    with pytest.raises(ImproperlyConfigured, match="STRIPE_SECRET_KEY"):
        check_stripe(["stripe"], secret_key="", webhook_secret="whsec_x")
    given = {"PAYMENT_PROVIDERS": "stripe", "STRIPE_SECRET_KEY": "sk_test_x", "STRIPE_WEBHOOK_SECRET": ""}
    with pytest.raises(ImproperlyConfigured, match="STRIPE_WEBHOOK_SECRET"):
        settings_of({**os.environ, **given})
