"""`manage.py load_passes`: passes for load generators, and nothing else on standard output."""

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from bench import load_buyers
from seckill.models import SaleItem
from seckill.passes import passes
from shop.models import Product
from tests.steps.operating import run_command
from tests.steps.shop import make_item

pytestmark = pytest.mark.django_db


def load_passes(item_id: int, *options: str) -> list[str]:
    """The command's standard output, in lines."""
    return run_command("load_passes", str(item_id), *options).splitlines()


def test_each_line_is_a_good_pass_of_another_buyer(item: SaleItem) -> None:
    lines = load_passes(item.pk, "--count", "25")

    found = [passes.read(line) for line in lines]
    assert len(found) == 25
    assert {pass_.item_id for pass_ in found} == {item.pk}
    assert len({pass_.buyer_id for pass_ in found}) == 25
    assert len({pass_.reservation_id for pass_ in found}) == 25


def test_the_progress_goes_to_standard_error(item: SaleItem, capfd: pytest.CaptureFixture[str]) -> None:
    call_command("load_passes", str(item.pk), "--count", "3")

    written = capfd.readouterr().out
    assert len(written.splitlines()) == 3
    assert all(passes.PATTERN.fullmatch(line) for line in written.splitlines())


def test_buyers_are_made_once_and_cannot_sign_in(item: SaleItem) -> None:
    first = load_passes(item.pk, "--count", "3")
    second = load_passes(item.pk, "--count", "5")

    users = User.objects.filter(username__startswith="load-").order_by("username")
    assert [user.username for user in users] == [f"load-{number:06}" for number in range(1, 6)]
    assert not any(user.has_usable_password() for user in users)
    assert [passes.read(line).buyer_id for line in second] == [user.pk for user in users]
    assert [passes.read(line).buyer_id for line in first] == [user.pk for user in users[:3]]


def test_more_buyers_than_one_insert_takes(item: SaleItem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_buyers, "CHUNK", 4)

    assert len(load_passes(item.pk, "--count", "10")) == 10


def test_the_first_buyer_can_be_chosen(item: SaleItem) -> None:
    (line,) = load_passes(item.pk, "--count", "1", "--first", "7")

    assert User.objects.get(pk=passes.read(line).buyer_id).username == "load-000007"


@pytest.mark.parametrize("count", ["0", "-5"])
def test_a_count_below_one_is_refused(item: SaleItem, count: str) -> None:
    with pytest.raises(CommandError, match="1 or more"):
        load_passes(item.pk, "--count", count)


def test_an_unknown_item_is_refused() -> None:
    with pytest.raises(CommandError, match="no published sale item 404"):
        load_passes(404, "--count", "1")


def test_an_item_that_is_not_published_is_refused(product: Product) -> None:
    item = make_item(product, published=False)

    with pytest.raises(CommandError, match="no published sale item"):
        load_passes(item.pk, "--count", "1")
