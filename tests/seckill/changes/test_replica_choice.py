"""A replica is lost: staff choose how many a yes waits for, and all processes follow without a restart."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.core.management import CommandError
from django.test import Client
from pytest_django import Settings

from orders import tasks
from seckill.changes.replica_choice import choose
from seckill.models import ReplicaChoice, SaleItem
from seckill.outcomes import Outcome
from seckill.store import yes_replicas
from seckill.store.client import StoreUnreachable
from tests.own_store import as_reservation_store, running
from tests.steps.buying import reserve, told
from tests.steps.operating import run_command
from tests.steps.staff import employee
from tests.steps.store import store_away

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def one_replica_wanted(item: SaleItem, settings: Settings) -> Iterator[None]:
    """The store of the tests has none: after the sale was published, each yes fails until somebody chooses."""
    settings.SECKILL_YES_REPLICAS, settings.SECKILL_YES_WAIT_MS = 1, 1
    yes_replicas.known.chosen = None
    yield
    yes_replicas.known.chosen = None


def test_without_its_replica_nothing_is_sold_until_somebody_chooses(
    item: SaleItem, buyer: User, rival: User, stranger: User
) -> None:
    with pytest.raises(StoreUnreachable):
        reserve(item, buyer)
    said = run_command("yes_replicas", "0", "--reason", "replica lost")
    assert "waits for 0 replicas" in said
    assert told(item, rival) is Outcome.RESERVED
    run_command("yes_replicas", "--as-set", "--reason", "replica is back")
    with pytest.raises(StoreUnreachable):
        reserve(item, stranger)
    # The latest stands first.
    assert [(choice.replicas, choice.reason) for choice in ReplicaChoice.objects.all()] == [
        (None, "replica is back"),
        (0, "replica lost"),
    ]


def test_staff_choose_in_the_admin(as_manager: Client, shop_manager: User, item: SaleItem, buyer: User) -> None:
    page = "/admin/seckill/replicachoice/"
    refused = as_manager.post(f"{page}add/", {"replicas": "2", "reason": "more"})
    assert "0 to 1 replicas" in refused.text
    shown = as_manager.post(f"{page}add/", {"replicas": "0", "reason": "replica lost"}, follow=True)
    assert "replica lost" in shown.text
    assert told(item, buyer) is Outcome.RESERVED
    [choice] = ReplicaChoice.objects.all()
    assert choice.made_by == shop_manager
    assert as_manager.get(f"{page}{choice.pk}/change/").status_code in (200, 302)
    assert as_manager.post(f"{page}{choice.pk}/change/", {"replicas": "1", "reason": "x"}).status_code == 403
    assert as_manager.post(f"{page}{choice.pk}/delete/", {"post": "yes"}).status_code == 403
    as_manager.post(f"{page}add/", {"replicas": "", "reason": "replica is back"})
    assert yes_replicas.yes_replicas_now() == 1


def test_staff_without_the_permission_cannot(client: Client) -> None:
    client.force_login(employee("change_sale", "view_sale", "view_replicachoice"))
    answer = client.post("/admin/seckill/replicachoice/add/", {"replicas": "0", "reason": "why"})
    assert answer.status_code == 403
    assert not ReplicaChoice.objects.exists()


def test_a_process_that_cannot_read_the_choice_goes_on_with_what_it_knows(settings: Settings) -> None:
    choose(replicas=0, reason="replica lost")
    cache.clear()
    assert yes_replicas.yes_replicas_now() == 0, "an emptied cache says nothing"
    store_away(settings, "default")
    assert yes_replicas.yes_replicas_now() == 0
    yes_replicas.known.chosen = None
    assert yes_replicas.yes_replicas_now() == 1, "a new process waits for all of them"


def test_a_process_that_was_idle_waits_for_all_until_it_has_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody may have taken the choice back, and its first yes would be told without a replica."""
    choose(replicas=0, reason="replica lost")
    monkeypatch.setattr(yes_replicas._reader, "wake", lambda: None)
    assert yes_replicas.yes_replicas() == 0
    yes_replicas.known.looked_s -= yes_replicas.COUNTS_SECONDS + 1
    assert yes_replicas.yes_replicas() == 1
    assert yes_replicas.yes_replicas_now() == 0


def test_a_sweep_repeats_the_choice_for_a_cache_that_was_away_and_other_processes_follow(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = settings.CACHES
    store_away(settings, "default")
    choose(replicas=0, reason="replica lost")
    settings.CACHES = before
    monkeypatch.setattr(tasks, "judge_settings", lambda: 0)
    tasks.judge_stores()
    yes_replicas.known.chosen = None
    assert yes_replicas.yes_replicas_now() == 0


def test_a_choice_that_makes_no_sense_is_refused() -> None:
    for replicas, reason in ((2, "more than are set"), (-1, "fewer than none"), (0, "")):
        with pytest.raises(ValidationError):
            choose(replicas=replicas, reason=reason)
    assert not ReplicaChoice.objects.exists()


def test_the_command_says_what_is_wrong_and_what_is_still_to_do() -> None:
    with pytest.raises(CommandError, match="0 to 1 replicas"):
        run_command("yes_replicas", "3", "--reason", "no")
    for arguments in (["0"], ["--as-set"], ["0", "--reason", " "]):
        with pytest.raises(CommandError, match="--reason"):
            run_command("yes_replicas", *arguments)
    assert "min-replicas-to-write" in run_command("yes_replicas"), "the server of the tests has no such setting"


def test_the_command_names_a_primary_that_refuses_each_yes_in_spite_of_the_choice(tmp_path: Path) -> None:
    with running(tmp_path) as own_store, as_reservation_store(own_store):
        own_store.client.config_set("min-replicas-to-write", 1)
        said = run_command("yes_replicas", "0", "--reason", "replica lost")
        assert "min-replicas-to-write of this primary is “1”. It has 0 replicas" in said
        own_store.client.config_set("min-replicas-to-write", 0)
        assert "min-replicas-to-write" not in run_command("yes_replicas")


def test_where_a_yes_waits_for_none_there_is_nothing_to_read(settings: Settings, monkeypatch: Any) -> None:
    settings.SECKILL_YES_REPLICAS = 0
    monkeypatch.setattr(yes_replicas, "read", pytest.fail)
    assert yes_replicas.yes_replicas() == yes_replicas.yes_replicas_now() == 0
