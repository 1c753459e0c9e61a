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


def test_each_line_is_a_good_pass_of_another_buyer_who_is_made_once_and_cannot_sign_in(
    item: SaleItem, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # Fewer than the buyers.
    monkeypatch.setattr(load_buyers, "CHUNK", 4)
    first = [passes.read(line) for line in load_passes(item.pk, "--count", "3")]
    found = [passes.read(line) for line in load_passes(item.pk, "--count", "10")]
    assert {pass_.item_id for pass_ in found} == {item.pk}
    assert len({pass_.reservation_id for pass_ in [*first, *found]}) == 13
    users = User.objects.filter(username__startswith="load-").order_by("username")
    assert [user.username for user in users] == [f"load-{number:06}" for number in range(1, 11)]
    assert not any(user.has_usable_password() for user in users)
    assert [pass_.buyer_id for pass_ in found] == [user.pk for user in users]
    assert [pass_.buyer_id for pass_ in first] == [user.pk for user in users[:3]]
    # Its progress goes to standard error.
    call_command("load_passes", str(item.pk), "--count", "1", "--first", "8")
    assert passes.read(capfd.readouterr().out.strip()).buyer_id == users[7].pk


def test_a_count_below_one_and_an_item_that_is_not_published_are_refused(product: Product) -> None:
    item = make_item(product, published=False)
    for item_id, count, why in (
        (item.pk, "0", "1 or more"),
        (item.pk, "-5", "1 or more"),
        (404, "1", "no published sale item 404"),
        (item.pk, "1", "no published sale item"),
    ):
        with pytest.raises(CommandError, match=why):
            load_passes(item_id, "--count", count)
