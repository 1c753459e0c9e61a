"""The admin speaks plain words in both languages, looks like the shop, and calls each thing by one name."""

import re
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone, translation

from orders.models import ApprovalRequest, Document, Mail, OrderNote, OrderStatus
from orders.payments.provider.interface import EventKind
from orders.staff.payment_admin import KINDS as EVENT_KINDS
from seckill.changes.texts import request_text
from seckill.models import SaleChange, SaleItem
from shop.staff.stock_form import StockForm
from tests.steps.buying import plain_order
from tests.steps.staff import LOOK_AT, ORDERS, admin_page, control_form, control_page, employee
from web.sidebar import NAVIGATION

GROUPS: list[Any] = list(NAVIGATION)
ENTRIES = [entry for group in GROUPS for entry in group["items"]]
LANGUAGES = ["en", "zh-hans"]


def test_a_page_has_the_name_that_leads_to_it(as_manager: Client) -> None:
    for entry in ENTRIES:
        page = as_manager.get(str(entry["link"]))
        for language in LANGUAGES:
            with translation.override(language):
                assert str(page.context["title"]) == str(entry["title"])
        title = re.escape(str(entry["title"]))
        assert re.search(rf"<title>\s*{title} \|", page.text), title
        # Also in the line at the top.
        assert re.search(rf'tracking-tight">\s*{title}\s*</', page.text), title


@pytest.mark.parametrize(("start", "language"), [("/admin/", "zh-hans"), ("/admin/shop/", "en")])
def test_the_start_of_the_admin_calls_the_pages_as_the_sidebar_does(
    as_manager: Client, start: str, language: str
) -> None:
    as_manager.cookies[settings.LANGUAGE_COOKIE_NAME] = language
    main = as_manager.get(start).content.decode().partition('id="main"')[2]
    found = re.findall(r'<a class="flex[^>]*href="(/admin/[^"]*)">.*?<span>([^<]*)</span>', main, re.DOTALL)
    with translation.override(language):
        assert found == [(str(entry["link"]), str(entry["title"])) for entry in ENTRIES]


def test_the_language_is_chosen_in_the_admin(as_manager: Client) -> None:
    page = as_manager.get(ORDERS).content.decode()
    assert 'name="language" type="hidden" value="zh-hans"' in page
    answer = as_manager.post("/i18n/setlang/", {"language": "zh-hans", "next": ORDERS})
    assert answer["Location"] == ORDERS
    assert '<html lang="zh-hans"' in as_manager.get(ORDERS).content.decode()


def test_a_refusal_to_staff_stays_in_the_admin(client: Client, buyer: User) -> None:
    client.force_login(employee("view_order"))
    page = client.get(f"/admin/auth/user/{buyer.pk}/change/")
    assert page.status_code == 403
    html = page.content.decode()
    assert "Your account may not do this" in html
    # The sidebar with what one may do.
    assert f'href="{ORDERS}"' in html
    # A buyer, who is not of the staff, sees nothing of the admin.
    client.force_login(buyer)
    assert f'href="{ORDERS}"' not in client.get(f"/admin/auth/user/{buyer.pk}/change/", follow=True).content.decode()


def test_the_sidebar_leads_only_where_its_reader_may_go(client: Client, db: None) -> None:
    staff = employee()
    client.force_login(staff)
    pages = {"change_order": ORDERS, "change_sale": "/admin/seckill/sale/", "view_user": "/admin/shop/customer/"}
    for permission, link in pages.items():
        staff.user_permissions.set(Permission.objects.filter(codename=permission))
        sidebar = client.get(link).content.decode().partition('id="main"')[0]
        assert [page for page in pages.values() if f'href="{page}"' in sidebar] == [link]


def test_help_and_errors_are_tied_to_their_field_and_times_have_names(as_manager: Client, item: SaleItem) -> None:
    for path, sent in (
        (admin_page(item.variant), {"how": "change", "low_stock_at": "-5"}),
        (control_page(item, SaleChange.Kind.ADD_UNITS), control_form(units=0, reason="")),
    ):
        page = as_manager.post(path, sent).text
        named = " ".join(re.findall(r'aria-describedby="([^"]+)"', page)).split()
        assert {name.rpartition("_")[2] for name in named} == {"helptext", "error"}, path
        assert [name for name in named if f'id="{name}"' not in page] == [], path
    draft = as_manager.get("/admin/seckill/sale/add/").text
    times = re.findall(r'name="(?:opens|closes)_at_[01]"[^>]* aria-label="([^"]+)"', draft)
    assert times == ["Opens at · Date", "Opens at · Time", "Closes at · Date", "Closes at · Time"]


def test_a_list_says_whether_nothing_was_found_or_nothing_is_there(as_manager: Client) -> None:
    for language, not_found, reset, none in (
        ("en", "Nothing was found", "Reset filters", "Nothing needs attention."),
        ("zh-hans", "没有找到", "清除筛选", "没有需要处理的事项。"),
    ):
        as_manager.cookies[settings.LANGUAGE_COOKIE_NAME] = language
        page = as_manager.get(ORDERS, {"q": "nothing like it"}).text
        assert not_found in page
        assert "yielded into" not in page
        page = as_manager.get(LOOK_AT).text
        assert none in page
        assert reset not in page


def test_times_and_money_have_one_style_in_each_language(as_manager: Client, item: SaleItem, buyer: User) -> None:
    moment = timezone.now().replace(microsecond=0)
    order = plain_order(item.variant, buyer, 1, 1900, status=OrderStatus.PAID, ended_at=moment)
    created, ended = (f"{timezone.localtime(time):%Y-%m-%d %H:%M:%S}" for time in (order.created_at, moment))
    for language in LANGUAGES:
        as_manager.cookies[settings.LANGUAGE_COOKIE_NAME] = language
        for page, time in ((ORDERS, created), (admin_page(buyer), created), (admin_page(order), ended)):
            html = as_manager.get(page).content.decode()
            assert time in html, (language, page)
            assert "19.00 CNY" in html, (language, page)
            assert "CN¥" not in html, (language, page)


def test_one_english_word_for_two_things_is_two_words_in_chinese() -> None:
    kinds = {
        "退款": ApprovalRequest.Kind.REFUND.label,
        "退款通知": Mail.Kind.REFUNDED.label,
        "已拒绝": ApprovalRequest.Status.DECLINED.label,
        "付款被拒": EVENT_KINDS[EventKind.DECLINED],
        "已过期": ApprovalRequest.Status.EXPIRED.label,
        "付款页面已过期": EVENT_KINDS[EventKind.EXPIRED],
        "已关闭（超时未付款）": OrderStatus.EXPIRED.label,
        "变更时间": SaleChange._meta.get_field("made_at").verbose_name,
        "填写时间": OrderNote._meta.get_field("made_at").verbose_name,
        "生成时间": Document._meta.get_field("made_at").verbose_name,
        "操作方式": StockForm.base_fields["how"].label,
    }
    change = SaleChange(kind=SaleChange.Kind.RETURN_UNSOLD, units=37)
    with translation.override("zh-hans"):
        assert request_text(change) == "退回 37 件未售出的商品"
        assert {str(label): chinese for chinese, label in kinds.items()} == {chinese: chinese for chinese in kinds}
