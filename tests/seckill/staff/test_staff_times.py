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
def test_times_are_entered_in_the_zone_that_their_fields_name(client: Client, product: Product) -> None:
    assert zones_named_on(client.get("/admin/seckill/sale/add/").content.decode()) == [SHANGHAI, SHANGHAI]
    typed = {"opens_at_1": "08:00:00", "closes_at_0": "2031-01-01", "closes_at_1": "08:00:00"}
    client.post("/admin/seckill/sale/add/", {**filled_form(row_of(product)), **typed})
    assert f"{Sale.objects.get().opens_at:%H:%M}" == "00:00"
    assert Sale.objects.get().closes_at.isoformat() == "2031-01-01T00:00:00+00:00"


@override_settings(TIME_ZONE="Asia/Shanghai")
def test_every_page_that_shows_times_names_the_zone(client: Client, item: SaleItem) -> None:
    pages = ["/admin/seckill/salechange/", "/admin/orders/paymentevent/"]
    pages += [reverse(f"admin:seckill_sale_{page}", args=[item.sale_id]) for page in ("change", "history")]
    for page in pages:
        assert f"All times: {SHANGHAI}" in client.get(page).content.decode(), page
    chinese = client.get("/admin/seckill/sale/", headers={"accept-language": "zh-CN"}).content.decode()
    assert f"所有时间均为 {SHANGHAI}" in chinese


@override_settings(TIME_ZONE="Asia/Shanghai")
def test_a_time_in_a_sentence_has_its_offset_since_cst_means_several_zones(client: Client, product: Product) -> None:
    item = make_item(product)
    control, form = control_page(item, SaleChange.Kind.MOVE_END), control_form(closes_at="2031-01-02T03:04:05")
    assert zones_named_on(client.get(control).content.decode()) == [SHANGHAI]
    response = client.post(control, form)
    assert messages_on(response) == ["The sale now closes at 2031-01-02 03:04:05 UTC+08:00."]
    assert Sale.objects.get().closes_at.isoformat() == "2031-01-01T19:04:05+00:00"
    draft = make_item(make_product(name="Oolong", slug="oolong", price_minor=5000), published=False)
    page = client.get(f"/admin/seckill/sale/{draft.sale_id}/publish/", follow=True).content.decode()
    assert page.count("UTC+08:00") >= 3
    assert "CST" not in page


def test_fields_show_a_time_alike_and_whole_in_each_language(client: Client, product: Product) -> None:
    draft = make_item(product, published=False).sale
    Sale.objects.update(opens_at="2030-01-02T03:04:05Z", closes_at="2030-01-02T04:05:06Z")
    for language in ("en", "zh-CN"):
        page = client.get(f"/admin/seckill/sale/{draft.pk}/change/", headers={"accept-language": language}).text
        times = re.findall(r'name="(?:opens|closes)_at_[01]" value="([^"]+)"', page)
        assert times == ["2030-01-02", "03:04:05", "2030-01-02", "04:05:06"], language


def test_where_clocks_change_in_spring_the_offset_is_that_of_now_and_utc_is_named_once(client: Client) -> None:
    assert zones_named_on(client.get("/admin/seckill/sale/add/").content.decode()) == ["UTC", "UTC"]
    with override_settings(TIME_ZONE="Europe/Berlin"):
        zones = zones_named_on(client.get("/admin/seckill/sale/add/").content.decode())
    assert zones
    assert all(re.fullmatch(r"Europe/Berlin \(now UTC\+0[12]:00\)", zone) for zone in zones)
