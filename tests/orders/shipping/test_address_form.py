"""The form for a delivery address: it takes what arrives, and says clearly what is wrong."""

from typing import Any

import pytest
from django.utils import translation
from pytest_django import Settings

from orders.shipping.order_address import DeliveryForm
from shop.addresses.countries import country_choices, country_name

HANGZHOU = {
    "name": "王小明",
    "line1": "文三路 478 号",
    "line2": "3 幢 502 室",
    "city": "杭州市",
    "region": "浙江省",
    "postcode": "310012",
    "country": "CN",
    "phone": "+86 138 0013 8000",
}


def form(**changes: Any) -> DeliveryForm:
    return DeliveryForm(HANGZHOU | changes)


def errors(**changes: Any) -> dict[str, list[str]]:
    return {name: list(map(str, found)) for name, found in form(**changes).errors.items()}


def test_a_whole_address_is_taken_as_it_is() -> None:
    filled = form()
    assert filled.is_valid(), filled.errors
    address = filled.instance
    assert {name: getattr(address, name) for name in HANGZHOU} == HANGZHOU


@pytest.mark.parametrize(
    ("country", "postcode"),
    [
        ("DE", "10115"),
        ("GB", "SW1A 1AA"),
        ("GB", "sw1a1aa"),
        ("US", "94103-1234"),
        ("NL", "1012 AB"),
        ("IS", "101"),
        ("HK", ""),
        ("IE", "D02 X285"),
    ],
)
def test_postcodes_of_all_countries_are_taken(country: str, postcode: str) -> None:
    assert errors(country=country, postcode=postcode) == {}


@pytest.mark.parametrize("phone", ["", "13800138000", "(030) 1234-5678", "+49 30/123456", "1.800.555.0199"])
def test_phone_numbers_are_taken_as_people_write_them(phone: str) -> None:
    assert errors(phone=phone) == {}


def test_full_width_digits_and_needless_blanks_become_plain() -> None:
    filled = form(postcode="３１００１２", phone="＋８６ １３８００１３８０００", name="  Wang   Xiaoming ")
    assert filled.is_valid(), filled.errors
    address = filled.instance
    assert (address.postcode, address.phone, address.name) == ("310012", "+86 13800138000", "Wang Xiaoming")


@pytest.mark.parametrize(
    ("changes", "field", "english", "chinese"),
    [
        ({"name": " "}, "name", "Please enter the name of the person", "请填写收货人姓名"),
        ({"line1": ""}, "line1", "Please enter street and house number", "请填写街道和门牌号"),
        ({"city": ""}, "city", "Please enter the city", "请填写城市"),
        ({"country": ""}, "country", "Please choose a country", "请选择国家或地区"),
        ({"country": "ZZ"}, "country", "Please choose a country", "请选择国家或地区"),
        ({"postcode": ""}, "postcode", "Please enter the postcode", "请填写邮政编码"),
        ({"postcode": "unknown"}, "postcode", "does not look like a postcode", "邮政编码"),
        ({"phone": "call me"}, "phone", "does not look like a phone number", "电话号码"),
        ({"phone": "12"}, "phone", "does not look like a phone number", "电话号码"),
        ({"line1": "x" * 201}, "line1", "at most 200", "200"),
    ],
)
def test_what_is_wrong_is_said_at_the_field_in_both_languages(
    changes: dict[str, str], field: str, english: str, chinese: str
) -> None:
    for language, expected in (("en", english), ("zh-hans", chinese)):
        with translation.override(language):
            found = errors(**changes)
        assert list(found) == [field]
        assert expected in found[field][0]


def test_the_countries_are_named_and_sorted_in_the_readers_language() -> None:
    with translation.override("en"):
        english = [name for _, name in country_choices()]
        assert country_name("DE") == "Germany"
    with translation.override("zh-hans"):
        chinese = [name for _, name in country_choices()]
        assert country_name("DE") == "德国"
    assert english.index("Åland Islands") < english.index("Brazil")
    # By pinyin: De, Fa, Mei, Zhong.
    assert [name for name in chinese if name in ("中国", "德国", "美国", "法国")] == ["德国", "法国", "美国", "中国"]
    assert not {"ZZ", "EU", "001"} & {code for code, _ in country_choices()}


def test_the_fields_stand_in_the_order_in_which_an_address_is_written() -> None:
    with translation.override("en"):
        assert [*form().fields][:3] == ["name", "line1", "line2"]
    with translation.override("zh-hans"):
        assert [*form().fields][:5] == ["name", "phone", "country", "region", "city"]


def test_an_empty_form_begins_with_the_shops_country(settings: Settings) -> None:
    settings.SHOP_COUNTRY = "DE"
    assert DeliveryForm()["country"].value() == "DE"
    assert DeliveryForm(initial={"country": "FR"})["country"].value() == "FR"
    assert DeliveryForm(countries=frozenset({"CN"}))["country"].value() is None


def test_browsers_know_what_to_fill_in() -> None:
    html = str(DeliveryForm())
    for word in ("shipping postal-code", "shipping address-line1", "shipping country", 'type="tel"'):
        assert word in html
