"""Staff enter and read times in a zone that each field and each page names, with its offset."""

import re

import pytest
from django.test import Client, override_settings
from django.urls import reverse

from seckill.models import Sale, SaleChange, SaleItem
from shop.models import Product
from tests.steps.shop import make_item, make_product
from tests.steps.staff import control_form, control_page, filled_form, messages_on, row_of

pytestmark = pytest.mark.usefixtures("_manager_signed_in")
SHANGHAI = "Asia/Shanghai (UTC+08:00)"


def zones_named_on(page: str) -> list[str]:
    return re.findall(r"Time zone: ([^<]*?)\.\s", page)


@override_settings(TIME_ZONE="Asia/Shanghai")
def test_each_field_for_a_time_names_the_zone_and_its_offset(client: Client, item: SaleItem) -> None:
    page = client.get("/admin/seckill/sale/add/").content.decode()
    assert zones_named_on(page) == [SHANGHAI, SHANGHAI]
    page = client.get(control_page(item, SaleChange.Kind.MOVE_END)).content.decode()
    assert zones_named_on(page) == [SHANGHAI]


@override_settings(TIME_ZONE="Asia/Shanghai")
def test_times_are_entered_in_that_zone(client: Client, product: Product) -> None:
    typed = {"opens_at_1": "08:00:00", "closes_at_0": "2031-01-01", "closes_at_1": "08:00:00"}
    client.post("/admin/seckill/sale/add/", {**filled_form(row_of(product)), **typed})
    assert f"{Sale.objects.get().opens_at:%H:%M}" == "00:00"
    assert Sale.objects.get().closes_at.isoformat() == "2031-01-01T00:00:00+00:00"


@override_settings(TIME_ZONE="Asia/Shanghai")
def test_every_page_that_shows_times_names_the_zone(client: Client, item: SaleItem) -> None:
    pages = [f"/admin/seckill/{name}/" for name in ("sale", "saleitem", "salechange")]
    pages += [f"/admin/orders/{name}/" for name in ("order", "ordertolookat", "paymentevent", "mail")]
    pages += [reverse(f"admin:seckill_sale_{page}", args=[item.sale_id]) for page in ("change", "history")]
    for page in pages:
        assert f"All times: {SHANGHAI}" in client.get(page).content.decode(), page
    chinese = client.get("/admin/seckill/sale/", headers={"accept-language": "zh-CN"}).content.decode()
    assert f"所有时间均为 {SHANGHAI}" in chinese


@override_settings(TIME_ZONE="Asia/Shanghai")
def test_a_time_in_a_sentence_has_its_offset_since_cst_means_several_zones(client: Client, product: Product) -> None:
    item = make_item(product)
    form = control_form(closes_at="2031-01-02T03:04:05")
    response = client.post(control_page(item, SaleChange.Kind.MOVE_END), form, follow=True)
    assert messages_on(response) == ["The sale now closes at 2031-01-02 03:04:05 UTC+08:00."]
    assert Sale.objects.get().closes_at.isoformat() == "2031-01-01T19:04:05+00:00"
    draft = make_item(make_product(name="Oolong", slug="oolong", price_minor=5000), published=False)
    page = client.get(f"/admin/seckill/sale/{draft.sale_id}/publish/", follow=True).content.decode()
    assert page.count("UTC+08:00") >= 3
    assert "CST" not in page


@override_settings(TIME_ZONE="Europe/Berlin")
def test_where_clocks_change_in_spring_the_offset_is_that_of_now(client: Client) -> None:
    zones = zones_named_on(client.get("/admin/seckill/sale/add/").content.decode())
    assert zones
    assert all(re.fullmatch(r"Europe/Berlin \(now UTC\+0[12]:00\)", zone) for zone in zones)


def test_in_utc_the_zone_is_named_once(client: Client) -> None:
    assert zones_named_on(client.get("/admin/seckill/sale/add/").content.decode()) == ["UTC", "UTC"]
