"""`manage.py page_times` times a shop's lists, and fills it if asked to; a page that is not shown gives no figure."""

import json

import pytest
from django.contrib.auth.models import User
from django.core.management.base import CommandError

from bench.measure.speed import page_times
from bench.measure.speed.part import WrongAnswer
from orders.models import Order
from shop.models import Product
from tests.steps.operating import run_command

pytestmark = pytest.mark.django_db


def test_every_page_has_its_times_and_statements_and_a_shop_with_too_few_rows_is_told_so() -> None:
    had = Product.objects.count()
    assert run_command("page_times", "search", "--times", "1")
    with pytest.raises(CommandError, match="too few products or orders"):
        run_command("page_times", "staff", "--times", "1")
    # Without numbers the command adds nothing.
    assert (Product.objects.count(), Order.objects.count(), User.objects.count()) == (had, 0, 0)

    numbers = ("--products", "60", "--orders", "150", "--times", "1")
    found = json.loads(run_command("page_times", "search", *numbers))
    assert found.keys() == page_times.search_pages().keys()
    assert all(0 < times["median_ms"] <= times["p99_ms"] for times in found.values())
    assert Order.objects.count() == 150
    assert Product.objects.filter(slug__startswith="many-").count() == 60
    with page_times.staff_client() as client:
        for name, address in page_times.staff_pages().items():
            _milliseconds, statements = page_times.measure_once(client, address)
            assert 2 < statements < 20, name


def test_no_superuser_stays_in_the_shop_also_when_a_page_fails() -> None:
    with page_times.staff_client() as client:
        assert User.objects.get().is_superuser
        assert page_times.measure_once(client, "/admin/")
    assert not User.objects.exists()
    with pytest.raises(RuntimeError, match="a page failed"), page_times.staff_client():
        raise RuntimeError("a page failed")
    assert not User.objects.exists()


def test_a_page_that_is_not_there_is_no_figure() -> None:
    with pytest.raises(WrongAnswer, match="got 404"):
        page_times.measure_once(page_times.buyer_client(), "/no-such-page/")


def test_the_slowest_of_few_is_their_p99() -> None:
    assert page_times.times_of([(3.0, 5), (1.0, 7), (2.0, 5)]) == page_times.PageTimes(2.0, 3.0, 7)
