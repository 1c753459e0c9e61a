"""Addresses of Redis stores: what is read from them, and what is refused."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from shop.configuration.redis_address import StoreKind, read_address


def test_one_server() -> None:
    address = read_address("redis://shop:p%40ss@store.example:7000/2")
    assert (address.kind, address.hosts, address.database) == (StoreKind.SINGLE, (("store.example", 7000),), 2)
    assert (address.username, address.password, address.tls) == ("shop", "p@ss", False)


def test_sentinels() -> None:
    address = read_address("rediss+sentinel://:secret@one,two:1,[::1]:2/mymaster/3?sentinel_password=other")
    assert address.kind is StoreKind.SENTINEL
    assert address.hosts == (("one", 26379), ("two", 1), ("::1", 2))
    assert (address.name, address.database, address.tls) == ("mymaster", 3, True)
    assert (address.username, address.password, address.sentinel_password) == (None, "secret", "other")


def test_a_cluster() -> None:
    address = read_address("redis+cluster://one:7000,two")
    assert (address.kind, address.hosts) == (StoreKind.CLUSTER, (("one", 7000), ("two", 6379)))


def test_an_address_that_cannot_be_read_is_refused_with_an_example_and_without_a_password() -> None:
    for url in (
        *("http://host", "redis+magic://host", "redis+sentinel://one,two", "redis+cluster://one,two/1"),
        *("redis+cluster://one,,two", "redis://host:port", "redis://host/first", "redis://"),
        "redis+sentinel://:secret@one,two?sentinel_password=secret",
    ):
        with pytest.raises(ImproperlyConfigured, match="redis\\+cluster://host:6379,host:6379") as refusal:
            read_address(url)
        assert "secret" not in str(refusal.value), url
    assert "secret" not in repr(read_address("redis://:secret@host"))
