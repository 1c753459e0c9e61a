"""When reminders leave: spread before the opening; when something is back, those who asked first."""

import re
from datetime import timedelta

import pytest
from django.core import mail
from django.db.models import F
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings
from structlog.testing import capture_logs

from orders.life import lifecycle
from orders.models import Reminder
from orders.reminders import due_reminders, reminder_mails
from orders.reminders.calendar_file import calendar_text
from seckill.models import Sale, SaleChange, SaleItem
from shop.models import Product, Variant
from tests.orders.mails.mail_server import mail_server
from tests.steps.buying import new_buyers, order_of
from tests.steps.drawing import drawn, entered, make_draw, opening_passes
from tests.steps.shop import goods, make_item, make_product
from tests.steps.staff import change
from tests.steps.store import store_away

pytestmark = pytest.mark.django_db(transaction=True)


def people_wait(count: int, **target: object) -> None:
    Reminder.objects.bulk_create(
        Reminder(
            **target,
            email=f"p{number}@example.com",
            mailbox=f"{number:016x}",
            language="en",
            confirmed_at=timezone.now(),
        )
        for number in range(count)
    )


def due() -> int:
    return Reminder.objects.filter(next_attempt_at__isnull=False).count()


def test_mails_about_an_opening_are_spread_and_have_all_left_before_it(product: Product) -> None:
    item = make_item(product, opens_in_seconds=3500, closes_in_seconds=9000)
    people_wait(600, sale=item.sale)
    Sale.objects.update(opens_at=timezone.now() + timedelta(hours=2))
    due_reminders.make_due()
    assert due() == 0
    Sale.objects.update(opens_at=item.sale.opens_at)
    due_reminders.make_due()
    assert 0 < due() < 10
    Sale.objects.update(opens_at=timezone.now() + timedelta(minutes=5))
    due_reminders.make_due()
    assert due() == 600


def test_units_that_are_back_in_a_sale_are_told_to_a_few_and_the_first_who_asked(item: SaleItem) -> None:
    orders = [order_of(item, who) for who in new_buyers(5)]
    people_wait(20, item=item)
    due_reminders.make_due()
    assert due() == 0
    lifecycle.cancel(order_id=orders[0].pk)
    due_reminders.make_due()
    first = Reminder.objects.order_by("pk")[: due_reminders.TOLD_FOR_EACH_UNIT]
    assert due() == due_reminders.TOLD_FOR_EACH_UNIT
    assert all(reminder.next_attempt_at for reminder in first)


def test_while_an_item_is_paused_alone_or_the_store_is_away_its_reminders_wait(
    item: SaleItem, settings: Settings
) -> None:
    people_wait(2, item=item)
    change(item, SaleChange.Kind.PAUSE_ITEM)
    due_reminders.make_due()
    assert due() == 0
    change(item, SaleChange.Kind.RESUME_ITEM)
    former = store_away(settings)
    due_reminders.make_due()
    assert due() == 0
    settings.CACHES = former
    due_reminders.make_due()
    assert due() == 2


def test_what_is_left_of_a_draw_is_told_to_nobody(product: Product) -> None:
    item = make_draw(product, quantity=3)
    entered(item, 1)
    drawn(item)
    people_wait(2, item=item)
    due_reminders.make_due()
    assert due() == 0


@pytest.mark.parametrize(
    ("admission", "subject", "advice", "in_chinese"),
    [
        (Sale.Admission.FIRST_COME, "“Spring sale” opens at ", "it reserves for you at the opening", "自动为您抢购"),
        (Sale.Admission.WAITING_ROOM, "“Spring sale” opens at ", "places are drawn at the opening", "随机排位"),
        (
            Sale.Admission.DRAW,
            "Enter the draw “Spring sale” until ",
            "The units are drawn afterwards",
            "登记截止后抽签",
        ),
    ],
)
def test_the_mail_before_an_opening_says_what_to_do_in_a_sale_of_its_kind(
    product: Product, admission: Sale.Admission, subject: str, advice: str, in_chinese: str
) -> None:
    item = make_item(product, opens_in_seconds=300, closes_in_seconds=9000, admission=admission)
    people_wait(2, sale=item.sale)
    first = Reminder.objects.earliest("pk")
    Reminder.objects.filter(pk=first.pk).update(language="zh-hans")
    due_reminders.make_due()
    reminder_mails.send_due(seconds_max=10)
    of_language = {"p0@example.com" in message.to: message for message in mail.outbox}
    assert of_language[False].subject.startswith(subject)
    assert advice in " ".join(str(of_language[False].body).split())
    assert in_chinese in str(of_language[True].body)
    assert ("it reserves for you" in str(of_language[False].body)) is (admission == Sale.Admission.FIRST_COME)


def test_a_mail_about_a_draw_that_is_late_does_not_leave(product: Product) -> None:
    item = make_draw(product)
    people_wait(1, sale=item.sale)
    due_reminders.make_due()
    assert due() == 1
    opening_passes(item)
    reminder_mails.send_due(seconds_max=10)
    assert mail.outbox == []
    assert not Reminder.objects.exists()


def test_a_product_that_is_back_and_gone_again_is_waited_for_again() -> None:
    cup = goods("cup", units=0)
    people_wait(5, variant=cup)
    Variant.objects.filter(pk=cup.pk).update(available=F("available") + 1)
    due_reminders.make_due()
    assert due() == 3
    for gone, again in (({"available": 0}, {"available": 1}), ({"is_active": False}, {"is_active": True})):
        Variant.objects.filter(pk=cup.pk).update(**gone)
        reminder_mails.send_due(seconds_max=10)
        assert mail.outbox == []
        assert due() == 0
        Variant.objects.filter(pk=cup.pk).update(**again)
        due_reminders.make_due()
        assert due() == 3
    Variant.objects.filter(pk=cup.pk).update(available=4)
    due_reminders.make_due()
    reminder_mails.send_due(seconds_max=10)
    assert len(mail.outbox) == 5
    assert not Reminder.objects.exists()


def test_a_refused_reminder_is_tried_again_and_then_given_up_and_holds_up_no_other(settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    people_wait(2, variant=goods("cup", units=9))
    due_reminders.make_due()
    with mail_server() as server, capture_logs() as logs:
        server.refuses.add("p0@example.com")
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        assert reminder_mails.send_due(seconds_max=10) == 1
        refused = Reminder.objects.get()
        assert (refused.email, refused.attempts) == ("p0@example.com", 1)
        assert refused.next_attempt_at is not None
        assert 50 < (refused.next_attempt_at - timezone.now()).total_seconds() < 70
        Reminder.objects.update(next_attempt_at=timezone.now(), attempts=reminder_mails.ATTEMPTS_MAX - 1)
        assert reminder_mails.send_due(seconds_max=10) == 0
    assert not Reminder.objects.exists()
    assert [line["event"] for line in logs] == ["reminder_refused", "reminder_given_up"]
    assert "p0@example.com" not in str(logs)


def test_the_sweep_costs_the_same_for_many(
    product: Product, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    people_wait(50, sale=make_item(product, opens_in_seconds=600, closes_in_seconds=9000).sale)
    with django_assert_max_num_queries(12):
        due_reminders.make_due()


def test_staff_see_how_many_wait(product: Product, item: SaleItem, as_manager: Client) -> None:
    people_wait(2, item=item)
    coming = make_item(make_product(slug="jug", price_minor=2000), opens_in_seconds=7200, closes_in_seconds=9000)
    people_wait(3, sale=coming.sale)
    cup = goods("cup", units=0)
    people_wait(1, variant=cup)
    assert "3 people want a mail" in as_manager.get(f"/admin/seckill/sale/{coming.sale_id}/change/").content.decode()
    assert "Waiting for units" in as_manager.get(f"/admin/seckill/sale/{item.sale_id}/change/").content.decode()
    assert "1 person waits for" in as_manager.get(f"/admin/shop/product/{cup.product_id}/change/").content.decode()


def test_the_calendar_file_is_one_that_calendars_read(product: Product, client: Client) -> None:
    item = make_item(product, opens_in_seconds=7200, closes_in_seconds=9000)
    Sale.objects.update(name_en="Tea, cups; and more " * 8)
    sale = Sale.objects.get(pk=item.sale_id)
    answer = client.get(f"/sales/{sale.pk}/calendar.ics")
    assert answer["Content-Type"] == "text/calendar; charset=utf-8"
    text = answer.content.decode()
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    unfolded = text.replace("\r\n ", "")
    assert "SUMMARY:Tea\\, cups\\; and more" in unfolded
    assert f"DTSTART:{sale.opens_at:%Y%m%dT%H%M%SZ}" in unfolded
    assert unfolded.startswith("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n")
    # Besides the second in which it was written, every reader gets the same.
    assert re.sub(r"DTSTAMP:\w+", "", unfolded) == re.sub(r"DTSTAMP:\w+", "", calendar_text(sale).replace("\r\n ", ""))
