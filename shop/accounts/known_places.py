"""Devices and networks from which an account signed in lately. Each has its own count of wrong passwords.

Otherwise anybody could keep a buyer out before an opening: five wrong passwords from elsewhere, every five minutes. A
device is known by a signed cookie, which only signing in gives; a network by an entry in the cache.
"""

import secrets
from typing import Any

from django.conf import settings
from django.core import signing
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse

from shop.background.outages import AWAY
from shop.http.client_address import client_network

COOKIE = "known_device"
SALT = "shop.accounts.known_device"
KNOWN_SECONDS = 90 * 24 * 3600
# People share a device; a cookie has an end.
ACCOUNTS_MAX = 5


def place_of(request: HttpRequest, *, account: str) -> str:
    """The known device or network that asks for this account; empty for all others, who share one count."""
    device = read_device(request)
    if account in device["accounts"]:
        return f"device-{device['id']}"
    network = client_network(request)
    try:
        is_known = cache.get(cache_key(account, network)) is not None
    except AWAY:
        is_known = False
    return f"network-{network}" if is_known else ""


def remember_network(request: HttpRequest, *, account: str) -> None:
    try:
        cache.set(cache_key(account, client_network(request)), 1, KNOWN_SECONDS)
    except AWAY:
        # The device is remembered by its cookie.
        return


def remember_device(response: HttpResponse, request: HttpRequest, *, account: str) -> None:
    device = read_device(request)
    accounts = [account, *(other for other in device["accounts"] if other != account)][:ACCOUNTS_MAX]
    response.set_cookie(
        COOKIE,
        signing.dumps({"id": device["id"], "accounts": accounts}, salt=SALT),
        max_age=KNOWN_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite=settings.SESSION_COOKIE_SAMESITE,
    )


def device_of(request: HttpRequest) -> str:
    """The id of the device, as far as it has signed in lately; empty for programs, and where the cookie was removed."""
    device = read_device(request)
    return str(device["id"]) if device["accounts"] else ""


def read_device(request: HttpRequest) -> dict[str, Any]:
    """The device's id, and the accounts that signed in there; a new id where the cookie is missing, old or forged."""
    try:
        device: dict[str, Any] = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=KNOWN_SECONDS)
    except signing.BadSignature:
        return {"id": secrets.token_urlsafe(9), "accounts": []}
    return device


def cache_key(account: str, network: str) -> str:
    return f"shop.accounts.known_network.{account}.{network}"
