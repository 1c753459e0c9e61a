"""A sale with proof of work: a pass costs a computation, each proof is good for one pass, and none can be made up."""

import base64
import json
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast
from unittest import mock

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from seckill.api import views
from seckill.guards import proof_of_work
from seckill.models import SaleItem
from shop.models import Product
from tests.shop.http.schema_client import DOCUMENT
from tests.steps.at_once import at_once
from tests.steps.guarding import ask_challenge, ask_pass, guarded_by, proof_for, solved, told_of_pass
from tests.steps.shop import make_item, make_product
from tests.steps.store import store_away

pytestmark = pytest.mark.django_db

GUIDE = Path(__file__).parents[3] / "docs" / "guide-api.md"


@pytest.fixture
def proven(item: SaleItem, monkeypatch: pytest.MonkeyPatch) -> SaleItem:
    """An item of a sale with proof of work, which is little here."""
    monkeypatch.setattr(proof_of_work, "TRIES", 20)
    return guarded_by(item, proof_of_work=True)


def program_of_the_guide() -> Callable[[dict[str, Any]], str]:
    """What docs/guide-api.md shows to the authors of clients, which needs nothing but Python."""
    (text,) = re.findall(r"```text\n(.*?)```", GUIDE.read_text(), flags=re.S)
    names: dict[str, Any] = {}
    exec(text, names)  # noqa: S102 our own documentation
    return cast(Callable[[dict[str, Any]], str], names["proof_of"])


def changed(proof: str, **parameters: Any) -> str:
    payload = json.loads(base64.b64decode(proof))
    payload["challenge"]["parameters"] |= parameters
    return base64.b64encode(json.dumps(payload).encode()).decode()


def test_a_call_without_a_proof_hears_where_to_get_a_challenge(proven: SaleItem, buyer: User) -> None:
    answer = ask_pass(proven, buyer)
    assert (answer.status_code, answer.json()["code"]) == (403, "proof_needed")
    assert answer.json()["challenge_url"] == f"/api/v1/sale-items/{proven.pk}/challenges/"
    assert answer.json().keys() <= DOCUMENT["components"]["schemas"]["Problem"]["properties"].keys()


def test_a_challenge_solved_by_the_guide_or_by_altcha_is_good_for_one_pass(proven: SaleItem, buyer: User) -> None:
    for solver in (program_of_the_guide(), solved):
        proof = solver(ask_challenge(proven, buyer).json())
        assert [told_of_pass(proven, buyer, proof=proof) for _ in range(2)] == ["pass", "proof_refused"]


def test_a_refused_proof_uses_up_no_place_of_its_network(proven: SaleItem, buyer: User, rival: User) -> None:
    guarded_by(proven, accounts_per_network=1)
    proof = proof_for(proven, buyer)
    assert told_of_pass(proven, buyer, proof=proof, address="192.0.2.1") == "pass"
    assert told_of_pass(proven, buyer, proof=proof, address="192.0.2.2") == "proof_refused"
    assert told_of_pass(proven, rival, proof=proof_for(proven, rival), address="192.0.2.2") == "pass"


def test_a_buyer_whom_another_rule_refuses_keeps_the_proof(proven: SaleItem, buyer: User, rival: User) -> None:
    guarded_by(proven, accounts_per_network=1)
    assert told_of_pass(proven, rival, proof=proof_for(proven, rival)) == "pass"
    proof = proof_for(proven, buyer)
    assert told_of_pass(proven, buyer, proof=proof) == "too_many_accounts"
    assert told_of_pass(proven, buyer, proof=proof, address="192.0.2.2") == "pass"


def test_a_database_that_goes_away_after_the_proof_was_taken_costs_no_pass(proven: SaleItem, buyer: User) -> None:
    proof = proof_for(proven, buyer)
    gone = mock.patch.object(views, "remember_language", side_effect=OperationalError("server closed the connection"))
    with gone:
        assert told_of_pass(proven, buyer, proof=proof) == "pass"


def test_of_many_calls_with_one_proof_one_gets_a_pass(
    item: SaleItem, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """In the cache server, so that it counts for all processes; no database is asked."""
    monkeypatch.setattr(proof_of_work, "TRIES", 5)
    text = solved(proof_of_work.new_challenge(sale_id=item.sale_id, buyer_id=1, network="192.0.2.1"))
    with django_assert_num_queries(0):
        proof = proof_of_work.read(text)
        found = proof_of_work.check(proof, sale_id=item.sale_id, buyer_id=1)
        assert found is proof_of_work.Proof.ACCEPTED
        assert proof is not None
        assert sum(at_once([partial(proof_of_work.use, proof)] * 20)) == 1


def test_a_proof_is_of_no_use_to_another_buyer_or_in_another_sale(
    proven: SaleItem, product: Product, buyer: User, rival: User
) -> None:
    other = guarded_by(make_item(make_product(slug="pot", price_minor=2000)), proof_of_work=True)
    proof = proof_for(proven, buyer)
    assert told_of_pass(proven, rival, proof=proof) == "proof_refused"
    assert told_of_pass(other, buyer, proof=proof) == "proof_refused"
    assert told_of_pass(proven, buyer, proof=proof) == "pass"


def test_an_easier_challenge_cannot_be_made_up(proven: SaleItem, buyer: User, rival: User) -> None:
    proof = proof_for(proven, buyer)
    forged = [
        changed(proof, keyPrefix="00"),
        changed(proof, data={"sale": proven.sale_id, "buyer": rival.pk}),
        changed(proof, expiresAt=int(time.time()) + 10_000),
        changed(proof, nonce="00" * 16),
        changed(proof, keySignature=None),
    ]
    assert {told_of_pass(proven, buyer, proof=text) for text in forged} == {"proof_refused"}
    assert told_of_pass(proven, rival, proof=forged[1]) == "proof_refused"


NONSENSE = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b'{"challenge": [], "solution": {}}',
    b'{"challenge": {"parameters": [], "signature": ""}, "solution": {"counter": 0, "derivedKey": ""}}',
    b'{"challenge": {"parameters": {}, "signature": 7}, "solution": {"counter": -1, "derivedKey": {}}}',
    b'{"challenge": {"parameters": {"expiresAt": "x", "data": NaN}, "signature": "00"}, "solution": []}',
    b"[" * 1000,
    b"\xff",
]


def test_nonsense_is_refused_and_breaks_nothing(proven: SaleItem, buyer: User) -> None:
    for content in NONSENSE:
        for text in (base64.b64encode(content).decode() or "x", content.decode(errors="replace") or "="):
            assert told_of_pass(proven, buyer, proof=text) in ("proof_refused", "proof_needed", "invalid"), content


def test_a_proof_that_came_too_late_is_refused(proven: SaleItem, buyer: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof_of_work, "LIFE_SECONDS", -2)
    assert told_of_pass(proven, buyer, proof=proof_for(proven, buyer)) == "proof_refused"


def test_demand_makes_it_harder_for_the_network_it_comes_from_and_never_without_bound(
    item: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof_of_work, "TRIES", 1000)
    works = [asked_work(item, buyer_id, network="192.0.2.1") for buyer_id in range(400)]
    assert 1000 < works[0] < 1200
    assert works == sorted(works)
    assert works[-1] == 1000 * proof_of_work.FACTOR_MAX
    assert 1000 < asked_work(item, 400, network="192.0.2.2") < 1400


def test_accounts_that_ask_all_the_time_make_it_no_harder_than_by_asking_once(
    item: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof_of_work, "TRIES", 100_000)
    accounts = range(1, 68)
    once = [asked_work(item, buyer_id, network=f"192.0.2.{buyer_id}") for buyer_id in accounts][-1]
    for _ in range(5):
        often = [asked_work(item, buyer_id, network=f"192.0.2.{buyer_id}") for buyer_id in accounts]
        assert max(often) <= once
    # Nor does one of them in a network that buyers share.
    alone = asked_work(item, 68, network="198.51.100.1")
    assert {asked_work(item, 68, network="198.51.100.1") for _ in range(30)} == {alone}


def test_while_the_cache_server_is_away_each_process_counts_accounts_for_itself(
    item: SaleItem, monkeypatch: pytest.MonkeyPatch, settings: LazySettings
) -> None:
    monkeypatch.setattr(proof_of_work, "TRIES", 100_000)
    store_away(settings, "default")
    works = [asked_work(item, buyer_id, network="192.0.2.1") for buyer_id in (1, 2, 2, 2, 1, 3)]
    assert works[0] < works[1] == works[2] == works[3] == works[4] < works[5]


def asked_work(item: SaleItem, buyer_id: int, *, network: str) -> int:
    return proof_of_work.work_for(sale_id=item.sale_id, buyer_id=buyer_id, network=network)


def test_challenges_begin_when_passes_do_and_are_limited_as_they_are(
    item: SaleItem, buyer: User, settings: LazySettings
) -> None:
    settings.PASS_LIMIT = "2/minute"
    assert ask_challenge(item, buyer).status_code == 404
    guarded_by(item, proof_of_work=True)
    assert [ask_challenge(item, buyer).status_code for _ in range(3)] == [201, 201, 429]
    early = make_item(make_product(slug="jug", price_minor=2000), opens_in_seconds=7200, closes_in_seconds=9000)
    assert ask_challenge(guarded_by(early, proof_of_work=True), buyer).json()["code"] == "too_early"


def test_the_page_without_scripts_says_what_to_do(proven: SaleItem, as_buyer: Client) -> None:
    page = as_buyer.get(f"/sale-items/{proven.pk}/reserve/")
    assert page.status_code == 403
    assert "That needs JavaScript" in page.content.decode()
    chinese = as_buyer.get(f"/zh-hans/sale-items/{proven.pk}/reserve/").content.decode()
    assert "JavaScript" in chinese
    assert "That needs JavaScript" not in chinese
