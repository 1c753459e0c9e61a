"""Two beats at once, as on two hosts: nothing is done twice, and one of them suffices."""

import email
from collections import Counter
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from orders.life import lifecycle
from orders.models import Order, OrderStatus
from orders.models.mail import Mail
from orders.repair.audit import audit
from seckill import ledger
from seckill.models import SaleItem
from seckill.outcomes import Outcome
from seckill.passes import passes
from shop.models import Product
from tests.live_shop import ALL_QUEUES, live_processes
from tests.processes import wait_until
from tests.steps.buying import let_deadlines_pass
from tests.steps.shop import make_item
from tests.steps.store import left_held_sold

pytestmark = pytest.mark.django_db(transaction=True)

BUYERS = 40
SECONDS_MAX = 60.0


@pytest.fixture
def buyers(db: None) -> list[User]:
    people = [User(username=f"buyer-{number}", email=f"buyer-{number}@example.com") for number in range(BUYERS)]
    return User.objects.bulk_create(people)


def reserve_silently(item: SaleItem, buyers: list[User]) -> None:
    """Reservations of which no worker is told: only a sweep finds them."""
    for buyer in buyers:
        reservation_id = passes.new_reservation_id(item.pk)
        answer = ledger.reserve(item_id=item.pk, reservation_id=reservation_id, buyer_id=buyer.pk, units=1)
        assert answer.outcome is Outcome.RESERVED


def statuses() -> Counter[str]:
    return Counter(Order.objects.values_list("status", flat=True))


def test_nothing_is_doubled_and_the_other_goes_on_when_one_is_killed(
    product: Product, buyers: list[User], tmp_path: Path
) -> None:
    item = make_item(product, quantity=BUYERS)
    mails = {"EMAIL_URL": f"filemail:///{tmp_path}"}
    with live_processes(names=(ALL_QUEUES, "beat-1", "beat-2"), **mails) as (_url, processes):
        reserve_silently(item, buyers[:30])
        wait_until(lambda: Order.objects.count() == 30, seconds_max=SECONDS_MAX)
        paid = [order.pk for order in Order.objects.order_by("pk")[:10] if lifecycle.pay(order_id=order.pk)]
        # Those that were not paid expire, and their units come back.
        let_deadlines_pass()
        wait_until(lambda: statuses()[OrderStatus.EXPIRED] == 30 - len(paid), seconds_max=SECONDS_MAX)

        processes["beat-1"].kill()
        reserve_silently(item, buyers[30:])
        wait_until(lambda: Order.objects.count() == 40, seconds_max=SECONDS_MAX)
        let_deadlines_pass()
        wait_until(lambda: statuses()[OrderStatus.EXPIRED] == 40 - len(paid), seconds_max=SECONDS_MAX)
        wait_until(lambda: not Mail.objects.filter(sent_at=None).exists(), seconds_max=SECONDS_MAX)
        wait_until(lambda: not Order.objects.filter(settled_at=None).exists(), seconds_max=SECONDS_MAX)

    assert left_held_sold(item) == (BUYERS - len(paid), 0, len(paid))
    assert audit(item_id=item.pk).comparison.problem_count == 0
    sent = [email.message_from_string(text)["Message-ID"] for text in mails_in(tmp_path)]
    assert len(sent) == len(set(sent)) == Mail.objects.count() > 0


def mails_in(directory: Path) -> list[str]:
    """The mails that Django's backend has written, several to a file."""
    texts = [path.read_text() for path in directory.iterdir()]
    return [part.strip() for text in texts for part in text.split("-" * 79) if part.strip()]
