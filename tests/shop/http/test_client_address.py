"""The address of a client, with and without proxies, whatever the client writes into the headers."""

from django.test import RequestFactory
from pytest_django import Settings

from shop.http.client_address import client_address, client_network

PROXY = "10.0.0.1"


SEEN = [
    (0, "", PROXY),
    (0, "198.51.100.7", PROXY),
    (1, "198.51.100.7", "198.51.100.7"),
    (1, "1.1.1.1, 2.2.2.2, 198.51.100.7", "198.51.100.7"),
    (2, "1.1.1.1, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
    (1, "198.51.100.7:4711", "198.51.100.7"),
    (1, "2001:DB8::7", "2001:db8::7"),
    (1, "[2001:db8::7]:4711", "2001:db8::7"),
    (1, "::ffff:198.51.100.7", "198.51.100.7"),
    # Not through all proxies, or not an address: the connection counts.
    (1, "", PROXY),
    (2, "198.51.100.7", PROXY),
    (1, "198.51.100.7, unknown", PROXY),
    (1, "198.51.100.7,", PROXY),
    (1, "1" * 10_000, PROXY),
]


def test_the_address_is_the_one_that_the_outermost_trusted_proxy_saw(settings: Settings) -> None:
    for proxies, forwarded_for, address in SEEN:
        settings.TRUSTED_PROXIES = proxies
        request = RequestFactory().get("/", REMOTE_ADDR=PROXY, HTTP_X_FORWARDED_FOR=forwarded_for)
        assert client_address(request) == address, forwarded_for[:40]


def test_a_limit_counts_a_customer_s_network() -> None:
    networks = {
        "198.51.100.7": "198.51.100.7",
        "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
        "fe80::1%eth0": "fe80::/64",
    }
    assert {address: client_network(RequestFactory().get("/", REMOTE_ADDR=address)) for address in networks} == networks
