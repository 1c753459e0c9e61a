"""Passes: read back as they were issued, and refused if any character is changed."""

import hmac
import string
import time

import pytest
from django.core.signing import b64_encode
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from seckill.passes import passes
from seckill.passes.passes import Pass, PassExpired, PassInvalid

ITEM_ID, BUYER_ID = 42, 7
ALPHABET = string.ascii_letters + string.digits + "._-= \n%\x00é"


def in_a_minute() -> int:
    return int(time.time()) + 60


def issue(*, expires_s: int | None = None) -> str:
    return passes.issue(item_id=ITEM_ID, buyer_id=BUYER_ID, expires_s=expires_s or in_a_minute())


@given(
    item_id=st.integers(min_value=1, max_value=2**47),
    buyer_id=st.integers(min_value=1, max_value=2**63 - 1),
    life_seconds=st.integers(min_value=5, max_value=10**9),
)
def test_a_pass_is_read_back_as_it_was_issued(item_id: int, buyer_id: int, life_seconds: int) -> None:
    expires_s = int(time.time()) + life_seconds
    read = passes.read(passes.issue(item_id=item_id, buyer_id=buyer_id, expires_s=expires_s))
    assert read == Pass(item_id, buyer_id, read.reservation_id, text=str(read.reservation_id))
    assert Pass(item_id, buyer_id, read.reservation_id).reservation_text == read.reservation_text
    assert passes.item_id_of(read.reservation_id) == item_id


@given(item_id=st.integers(min_value=1, max_value=2**48 - 1))
def test_a_reservation_id_is_a_uuid_of_version_8_that_contains_its_item(item_id: int) -> None:
    reservation_id = passes.new_reservation_id(item_id)
    assert (reservation_id.version, reservation_id.variant) == (8, "specified in RFC 4122")
    assert passes.item_id_of(reservation_id) == item_id


def test_no_two_passes_have_the_same_reservation_id_and_each_goes_into_a_header_and_a_url_as_it_is() -> None:
    texts = [issue() for _ in range(1000)]
    assert len({passes.read(text).reservation_id for text in texts}) == 1000
    assert {*"".join(texts)} <= {*string.ascii_letters, *string.digits, *"._-"}


def test_changing_any_character_makes_the_pass_invalid() -> None:
    good = issue()
    passes.read(good)
    for position, character in enumerate(good):
        for other in set(ALPHABET) - {character}:
            with pytest.raises(PassInvalid):
                passes.read(good[:position] + other + good[position + 1 :])


def test_removing_or_adding_any_character_makes_the_pass_invalid() -> None:
    good = issue()
    for position in range(len(good)):
        with pytest.raises(PassInvalid):
            passes.read(good[:position] + good[position + 1 :])
    for position in range(len(good) + 1):
        for other in "0a.-\n ":
            with pytest.raises(PassInvalid):
                passes.read(good[:position] + other + good[position:])


def test_parts_of_two_passes_do_not_make_a_valid_one() -> None:
    expires_s = in_a_minute()
    mine = issue(expires_s=expires_s).split(".")
    other = passes.issue(item_id=43, buyer_id=BUYER_ID, expires_s=expires_s).split(".")
    for position in (1, 4, 5):
        mixed = [*mine[:position], other[position], *mine[position + 1 :]]
        with pytest.raises(PassInvalid):
            passes.read(".".join(mixed))


@given(st.text(max_size=300) | st.from_regex(passes.PATTERN, fullmatch=True) | st.text(ALPHABET, max_size=200))
def test_a_text_that_the_shop_did_not_sign_is_no_pass(text: str) -> None:
    with pytest.raises(PassInvalid):
        passes.read(text)


HOSTILE = [
    "",
    "p1",
    "p1....." + "A" * 43,
    "p1.42.7.9999999999." + "0" * 32 + "." + "A" * 43,
    "p1.٤٢.7.9999999999." + "0" * 32 + "." + "A" * 43,
    "p1." + "9" * 10_000 + ".7.9999999999." + "0" * 32 + "." + "A" * 43,
    "." * 100_000,
    "p2.42.7.9999999999." + "0" * 32 + "." + "A" * 43,
]


def test_hostile_texts_are_no_pass() -> None:
    for text in HOSTILE:
        with pytest.raises(PassInvalid):
            passes.read(text)


def test_a_pass_of_another_shop_is_no_pass_here(settings: Settings) -> None:
    settings.SECRET_KEY = "another shop's key"
    foreign = issue()
    settings.SECRET_KEY = "our key"
    with pytest.raises(PassInvalid):
        passes.read(foreign)


def test_a_fallback_key_still_reads_and_no_longer_signs(settings: Settings) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "the old key", []
    old = issue()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "the new key", ["the one between", "the old key"]
    assert passes.read(old).buyer_id == BUYER_ID
    new = issue()
    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(PassInvalid):
        passes.read(old)
    assert passes.read(new).buyer_id == BUYER_ID


def test_a_pass_is_valid_until_the_second_of_its_expiry(monkeypatch: pytest.MonkeyPatch) -> None:
    good = issue(expires_s=2_000_000_000)
    monkeypatch.setattr(time, "time", lambda: 1_999_999_999.999)
    assert passes.read(good).buyer_id == BUYER_ID
    monkeypatch.setattr(time, "time", lambda: 2_000_000_000.0)
    with pytest.raises(PassExpired):
        passes.read(good)


def test_an_altered_pass_is_invalid_even_if_it_has_expired() -> None:
    spoiled = issue(expires_s=1).replace("p1.42.", "p1.43.")
    with pytest.raises(PassInvalid):
        passes.read(spoiled)


def test_the_signature_is_an_hmac_for_passes_alone(settings: Settings) -> None:
    for secret in ("short", "k" * 49, "k" * 50, "a long one " * 20):
        settings.SECRET_KEY = secret
        body, _, signature = issue().rpartition(".")
        of_passes, of_the_shop = (
            hmac.digest(key, body.encode(), "sha256") for key in (b"seckill.passes:" + secret.encode(), secret.encode())
        )
        assert b64_encode(of_passes).decode() == signature != b64_encode(of_the_shop).decode(), secret
