"""Receipts: read back as they were issued, refused if any character is changed, and a key of their own."""

import string
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from seckill.ledger import Reservation
from seckill.outcomes import Outcome
from seckill.passes import passes, receipts
from seckill.passes.passes import Pass
from seckill.passes.receipts import LENGTH_MAX, Receipt, ReceiptInvalid

ITEM_ID, BUYER_ID = 42, 7
ALPHABET = string.ascii_letters + string.digits + "._-= \n%\x00é"


def issue(
    *,
    reservation_id: UUID | None = None,
    buyer_id: int = BUYER_ID,
    units: int = 2,
    price_minor: int = 1900,
    deadline_ms: int = 1767226500012,
) -> str:
    pass_ = Pass(ITEM_ID, buyer_id, reservation_id or passes.new_reservation_id(ITEM_ID))
    reservation = Reservation(Outcome.RESERVED, 0, units, deadline_ms, price_minor, "CNY")
    return receipts.issue(pass_=pass_, reservation_id=str(pass_.reservation_id), reservation=reservation)


@given(
    item_id=st.integers(min_value=1, max_value=2**47),
    buyer_id=st.integers(min_value=1, max_value=2**63 - 1),
    units=st.integers(min_value=1, max_value=999_999_999),
    price_minor=st.integers(min_value=0, max_value=10**18 - 1),
    deadline_ms=st.integers(min_value=1, max_value=10**15 - 1),
)
def test_a_receipt_is_read_back_as_it_was_issued(
    item_id: int, buyer_id: int, units: int, price_minor: int, deadline_ms: int
) -> None:
    reservation_id = passes.new_reservation_id(item_id)
    told = {"buyer_id": buyer_id, "units": units, "price_minor": price_minor, "deadline_ms": deadline_ms}
    text = issue(reservation_id=reservation_id, **told)
    found = receipts.read(text)
    assert found == Receipt(reservation_id, buyer_id, units, price_minor, "CNY", deadline_ms)
    assert found.item_id == item_id
    assert len(text) <= LENGTH_MAX


def test_changing_any_character_makes_the_receipt_invalid() -> None:
    good = issue()
    receipts.read(good)
    assert {*good} <= {*string.ascii_letters, *string.digits, *"._-"}, "it goes into a URL as it is"
    for position, character in enumerate(good):
        for other in set(ALPHABET) - {character}:
            with pytest.raises(ReceiptInvalid):
                receipts.read(good[:position] + other + good[position + 1 :])


@given(st.text(max_size=400))
def test_any_other_text_is_no_receipt(text: str) -> None:
    with pytest.raises(ReceiptInvalid):
        receipts.read(text)


def test_a_pass_is_no_receipt_and_its_signature_fits_none() -> None:
    pass_text = passes.issue(item_id=ITEM_ID, buyer_id=BUYER_ID, expires_s=passes.expiry_s())
    with pytest.raises(ReceiptInvalid):
        receipts.read(pass_text)
    body = issue().rpartition(".")[0]
    with pytest.raises(ReceiptInvalid):
        receipts.read(f"{body}.{passes.signature(body.encode(), passes.keys()[0])}")


def test_after_a_change_of_the_key_receipts_are_read_as_long_as_the_former_one_is_known(settings: Settings) -> None:
    former = settings.SECRET_KEY
    text = issue()
    settings.SECRET_KEY = "another"
    with pytest.raises(ReceiptInvalid):
        receipts.read(text)
    settings.SECRET_KEY_FALLBACKS = ["a third", former]
    assert receipts.read(text).units == 2
    # New ones have the new key, and say so, but nothing of the key itself.
    assert issue().split(".")[1] != text.split(".")[1]
    assert text.split(".")[1] not in former
