"""The mails to those who have not won in a draw: all leave, a part in each sweep, and hold up no other mail."""

from datetime import timedelta
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.core import mail as django_mail
from django.db.models.functions import Now
from django.utils import timezone

from orders.life import draw_results
from orders.life.draw_results import tell_losers
from orders.mails import line_mails
from orders.models import LineMail
from orders.tasks import carry_out_draws, send_mails
from seckill.models import Draw, DrawEntry, SaleItem
from seckill.passes.passes import new_reservation_id
from shop.languages.buyer_language import store_language
from shop.mails.outgoing_mail import Delivery
from shop.models import AccountMail, Product
from tests.steps.accounts import confirmed
from tests.steps.at_once import at_once
from tests.steps.buying import new_buyers
from tests.steps.drawing import make_draw

pytestmark = pytest.mark.django_db(transaction=True)

Status = DrawEntry.Status


@pytest.fixture
def item(product: Product) -> SaleItem:
    """Its draw is over, and nothing is left to give."""
    item = make_draw(product, quantity=3)
    Draw.objects.update(closed_at=timezone.now(), drawn_at=timezone.now(), units={str(item.pk): 3})
    return item


def losers(item: SaleItem, count: int) -> list[User]:
    """As many accounts with an address, whose entries have not won."""
    people = new_buyers(count)
    for person in people:
        person.email = f"{person.username}@example.com"
    User.objects.bulk_update(people, ["email"])
    DrawEntry.objects.bulk_create(
        DrawEntry(
            item=item,
            buyer=person,
            units=1,
            reservation_id=new_reservation_id(item.pk),
            status=Status.NOT_WON,
            place=place,
            won_at_draw=False,
        )
        for place, person in enumerate(people, start=4)
    )
    return people


def account_mail(to: str) -> None:
    AccountMail.objects.create(to=to, subject="Your password", text="t", html="h", next_attempt_at=timezone.now())


def addressees() -> list[str]:
    return [message.to[0] for message in django_mail.outbox]


def test_all_are_told_a_part_in_each_sweep_and_an_account_mail_goes_first(
    item: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draw_results, "BATCH_MAX", 4)
    monkeypatch.setattr(line_mails, "SENT_AT_ONCE_MAX", 4)
    people = losers(item, 10)
    assert [tell_losers() for _second in range(4)] == [4, 4, 2, 0]
    assert not AccountMail.objects.exists()
    sent = []
    for sweep in range(20):
        account_mail(f"guest-{sweep}@example.com")
        before = len(django_mail.outbox)
        sent.append(send_mails() - 1)
        assert addressees()[before] == f"guest-{sweep}@example.com"
        if not sent[-1]:
            break
    assert sent == [4, 4, 2, 0]
    assert sorted(to for to in addressees() if not to.startswith("guest-")) == sorted(one.email for one in people)


def test_a_loser_reads_the_place_in_their_language(item: SaleItem) -> None:
    english, chinese = losers(item, 2)
    store_language(user_id=chinese.pk, language="zh-hans")
    tell_losers()
    # By PostgreSQL's clock the sale is not over.
    with mock.patch.object(timezone, "now", return_value=timezone.now() + timedelta(hours=2)):
        assert send_mails() == 2
    first, second = django_mail.outbox
    assert first.subject == "The draw is over: Longjing tea"
    assert "Units that winners do not pay for go to the next in the drawn order" in str(first.body)
    assert "Your place in the drawn order is 4." in str(first.body)
    assert f"/sales/{item.sale_id}/draw/" in str(first.body)
    assert "5" in str(second.body)
    assert "抽签" in str(second.subject)


def test_somebody_who_has_units_by_then_is_not_told_that_they_have_none(item: SaleItem) -> None:
    losers(item, 1)
    tell_losers()
    DrawEntry.objects.update(status=Status.WON)
    assert send_mails() == 0
    # The sale ended before the units were held: now they are told after all.
    DrawEntry.objects.update(status=Status.NOT_WON, told_at=None)
    tell_losers()
    assert send_mails() == 1


def test_each_loser_is_told_once_and_people_without_an_address_hold_up_no_others(item: SaleItem) -> None:
    people = losers(item, 3)
    User.objects.filter(pk=people[0].pk).update(email="")
    User.objects.filter(pk=people[1].pk).update(is_active=False)
    tell_losers()
    DrawEntry.objects.update(told_at=None)
    tell_losers()
    assert LineMail.objects.get().buyer == people[2]
    assert send_mails() == 1
    DrawEntry.objects.update(told_at=None)
    tell_losers()
    assert send_mails() == 0


def test_a_stranger_whose_address_many_accounts_have_gets_few(item: SaleItem) -> None:
    people = losers(item, 13)
    User.objects.update(email="stranger@example.com")
    confirmed(people[-1], "stranger@example.com")
    tell_losers()
    assert send_mails() == 11


def test_an_outage_of_the_mail_server_uses_up_no_room(item: SaleItem) -> None:
    losers(item, 1)
    tell_losers()
    server_away = mock.Mock(**{"open.side_effect": ConnectionRefusedError("away")})
    for _ in range(11):
        LineMail.objects.update(next_attempt_at=Now())
        mail = line_mails.claim_next()
        assert mail is not None
        assert line_mails.deliver(mail, server_away) is Delivery.NO_ANSWER
    LineMail.objects.update(next_attempt_at=Now())
    assert send_mails() == 1


def test_sweeps_at_once_queue_one_mail_for_each(item: SaleItem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw_results, "BATCH_MAX", 40)
    losers(item, 60)
    assert sum(at_once([tell_losers] * 4)) <= 60
    while carry_out_draws():
        pass
    assert LineMail.objects.count() == 60
    assert not DrawEntry.objects.filter(told_at=None).exists()
