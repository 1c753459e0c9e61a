"""The mail server of the shop."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from tests.orders.mails.mail_server import MailServer, mail_server


@pytest.fixture
def server(settings: Settings) -> Iterator[MailServer]:
    with mail_server() as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", server.port, 1
        settings.SHOP_URL = "http://shop.example.com"
        yield server
