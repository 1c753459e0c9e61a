"""No sale opens on stores that could lose confirmed reservations; the override warns of what that means."""

from collections.abc import Iterator
from dataclasses import dataclass
from unittest import mock
from urllib.parse import urlsplit

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import translation
from pytest_django import Settings

from bench.stampede import setup
from seckill import ledger
from seckill.changes.rules import CannotChange
from seckill.models import Sale, SaleChange, SaleItem
from seckill.publication import CannotPublish, announce_pending, publish_sale
from seckill.store import durability
from seckill.store.client import Member
from shop.models import Product
from tests.own_store import OwnStore, as_reservation_store, running
from tests.steps.shop import make_item
from tests.steps.staff import change, confirm_and_publish, messages_on
from tests.steps.store import store_away

STRONG = {
    "appendonly": "yes",
    "appendfsync": "always",
    "no-appendfsync-on-rewrite": "no",
    "maxmemory-policy": "noeviction",
}
WEAK = [
    ("appendonly", "no"),
    ("appendfsync", "everysec"),
    ("appendfsync", "no"),
    ("no-appendfsync-on-rewrite", "yes"),
    ("maxmemory-policy", "allkeys-lru"),
    ("maxmemory-policy", "volatile-ttl"),
]
# A user of the store who may do everything that the shop needs, but not read the settings, as in a managed service.
MANAGED = {"username": "shop", "password": "of-the-shop"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnStore]:
    with running(tmp_path_factory.mktemp("durability")) as store:
        store.client.acl_setuser(
            MANAGED["username"],
            enabled=True,
            passwords=[f"+{MANAGED['password']}"],
            keys=["*"],
            commands=["+@all", "-config"],
        )
        yield store


@pytest.fixture
def own(server: OwnStore) -> Iterator[OwnStore]:
    """The shop's reservation store for one test: durable, empty, and with settings that may be changed."""
    server.client.flushdb()
    with as_reservation_store(server):
        yield server
    for name, value in STRONG.items():
        server.client.config_set(name, value)


@pytest.fixture
def draft(own: OwnStore, product: Product) -> SaleItem:
    return make_item(product, published=False)


@dataclass(frozen=True)
class Seen:
    """What publishing changes."""

    published: bool
    announced: bool
    in_store: bool


def seen(item: SaleItem) -> Seen:
    row = SaleItem.objects.select_related("sale").get(pk=item.pk)
    in_store = ledger.read(item_id=item.pk) is not None
    return Seen(published=row.sale.is_published, announced=row.announced_at is not None, in_store=in_store)


UNTOUCHED = Seen(published=False, announced=False, in_store=False)
OPENED = Seen(published=True, announced=True, in_store=True)


def commit_without_waiting() -> None:
    """Turn synchronous_commit off until the end of the test's transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")


def test_strong_stores_have_no_weakness_and_the_sale_opens(draft: SaleItem) -> None:
    assert durability.find_weaknesses() == []
    assert publish_sale(sale_id=draft.sale_id)
    assert seen(draft) == OPENED


def test_a_weak_reservation_store_refuses_the_sale(own: OwnStore, draft: SaleItem) -> None:
    for name, value in WEAK:
        own.client.config_set(name, value)
        with pytest.raises(CannotPublish, match=f"{name} is “{value}”.* Set {name} {STRONG[name]}"):
            publish_sale(sale_id=draft.sale_id)
        own.client.config_set(name, STRONG[name])
    assert seen(draft) == UNTOUCHED


def test_a_commit_that_waits_for_the_local_disk_is_strong_enough(draft: SaleItem) -> None:
    for value in ("local", "remote_write", "remote_apply"):
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL synchronous_commit = {value}")
        assert durability.find_weaknesses() == [], value


def test_each_weakness_is_named_also_in_the_log_where_the_override_opens_the_sale(
    own: OwnStore, draft: SaleItem, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in [("appendfsync", "everysec"), ("maxmemory-policy", "allkeys-lru")]:
        own.client.config_set(name, value)
    commit_without_waiting()
    found = [weakness.setting for weakness in durability.find_weaknesses()]
    assert found == ["appendfsync", "maxmemory-policy", "synchronous_commit"]
    words = "appendfsync.*maxmemory-policy.*synchronous_commit is “off”.* Set synchronous_commit = on"
    with pytest.raises(CannotPublish, match=words):
        publish_sale(sale_id=draft.sale_id)
    assert seen(draft) == UNTOUCHED
    settings.SECKILL_ALLOW_WEAK_DURABILITY = True
    assert publish_sale(sale_id=draft.sale_id)
    assert seen(draft) == OPENED
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "sale_opens_on_weak_stores" in record.getMessage()
    assert "appendfsync everysec" in record.getMessage()


def test_a_store_whose_settings_cannot_be_read_counts_as_weak(
    own: OwnStore, draft: SaleItem, settings: Settings
) -> None:
    url = urlsplit(own.url)
    managed = url._replace(netloc=f"{MANAGED['username']}:{MANAGED['password']}@{url.hostname}:{url.port}").geturl()
    settings.CACHES = settings.CACHES | {"seckill": settings.CACHES["seckill"] | {"LOCATION": managed}}
    with pytest.raises(CannotPublish, match="CONFIG GET: “.*no permissions.*SECKILL_ALLOW_WEAK_DURABILITY=1"):
        publish_sale(sale_id=draft.sale_id)
    assert seen(draft) == UNTOUCHED
    settings.SECKILL_ALLOW_WEAK_DURABILITY = True
    assert publish_sale(sale_id=draft.sale_id)
    assert seen(draft) == OPENED


def test_an_unannounced_sale_does_not_open_on_a_store_that_became_weak(
    own: OwnStore, draft: SaleItem, caplog: pytest.LogCaptureFixture
) -> None:
    Sale.objects.filter(pk=draft.sale_id).update(published_at=draft.sale.opens_at)
    own.client.config_set("appendonly", "no")
    assert announce_pending() == 0
    assert seen(draft) == Seen(published=True, announced=False, in_store=False)
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert "sale_waits_for_durable_stores" in record.getMessage()
    own.client.config_set("appendonly", "yes")
    assert announce_pending() == 1
    assert seen(draft) == OPENED


@pytest.mark.django_db(transaction=True)
def test_a_paused_sale_cannot_be_resumed_on_a_weak_store(own: OwnStore, product: Product) -> None:
    item = make_item(product)
    paused = change(item, SaleChange.Kind.PAUSE, reason="The server moves")
    own.client.config_set("appendfsync", "everysec")
    for kind in (SaleChange.Kind.RESUME_ITEM, SaleChange.Kind.RESUME):
        with pytest.raises(CannotChange, match="Set appendfsync always"):
            change(item, kind, reason="It has moved")
    assert list(SaleChange.objects.all()) == [paused]
    own.client.config_set("appendfsync", "always")
    change(item, SaleChange.Kind.RESUME, reason="It has moved")
    assert not Sale.objects.get(pk=item.sale_id).paused


def test_with_the_store_down_the_database_is_still_checked(draft: SaleItem, settings: Settings) -> None:
    store_away(settings)
    commit_without_waiting()
    with pytest.raises(CannotPublish, match="synchronous_commit"):
        publish_sale(sale_id=draft.sale_id)
    assert not Sale.objects.get(pk=draft.sale_id).is_published


def test_the_settings_are_not_read_when_nothing_is_unannounced(own: OwnStore, draft: SaleItem) -> None:
    """The sweep runs every second."""
    before = own.calls().get("config|get", 0)
    assert announce_pending() == 0
    assert own.calls().get("config|get", 0) == before


def test_staff_read_why_in_their_language(
    as_manager: Client, own: OwnStore, draft: SaleItem, settings: Settings
) -> None:
    own.client.config_set("appendfsync", "everysec")
    (refusal,) = messages_on(confirm_and_publish(as_manager, draft.sale))
    assert refusal.startswith(
        "“Spring sale” was not published. The reservation store confirms reservations before they are on disk"
    )
    (refusal,) = messages_on(confirm_and_publish(as_manager, draft.sale, headers={"Accept-Language": "zh-hans"}))
    assert "请设置 appendfsync always" in refusal
    assert seen(draft) == UNTOUCHED

    settings.SECKILL_ALLOW_WEAK_DURABILITY = True
    published, warning = messages_on(confirm_and_publish(as_manager, draft.sale))
    assert published == "“Spring sale” is published."
    assert warning.startswith("Sales can open only because SECKILL_ALLOW_WEAK_DURABILITY is set. The reservation store")
    assert seen(draft) == OPENED


def test_every_rule_is_in_chinese() -> None:
    rules = [*durability.STORE_RULES.values(), *durability.DATABASE_RULES.values()]
    with translation.override("zh-hans"):
        assert [rule.text for rule in rules if translation.gettext(rule.text) == rule.text] == []


def test_the_demo_and_the_stampede_say_so_and_leave_no_draft(db: None, own: OwnStore) -> None:
    own.client.config_set("appendfsync", "everysec")
    with pytest.raises(CommandError, match="Set appendfsync always"):
        call_command("load_demo")
    with pytest.raises(setup.CannotStart, match="Set appendfsync always"):
        setup.own_items(stock=1, count=1, units_max=1)
    assert not Sale.objects.exists()
    assert not Product.objects.filter(name__startswith="Load test").exists()


def test_where_no_sentinels_choose_a_yes_waits_for_every_replica(settings: Settings) -> None:
    """In a Cluster the primaries of other items vote for the replica that asks first, whatever it has."""
    settings.SECKILL_YES_REPLICAS = 1
    for replicas, is_sound in ((0, False), (1, True), (2, False), (3, False)):
        replication = {f"slave{n}": {"ip": "10.0.0.1", "port": n, "state": "online"} for n in range(replicas)}
        member = Member("10.0.0.1:1", primary=True, client=mock.Mock(info=mock.Mock(return_value=replication)))
        promises = {"min-replicas-to-write": "1", "repl-backlog-ttl": "0"}
        found = durability.weaknesses_of_promises(member, promises)
        assert [weakness.setting for weakness in found] == ([] if is_sound else ["replicas"]), replicas
