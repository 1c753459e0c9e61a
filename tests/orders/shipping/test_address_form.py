"""The form for a delivery address: it takes what arrives, and says clearly what is wrong."""

from typing import Any

from django.utils import translation
from pytest_django import Settings

from orders.shipping.order_address import DeliveryForm
from shop.addresses.countries import country_choices, country_name
from tests.steps.buying import HANGZHOU


def form(**changes: Any) -> DeliveryForm:
    return DeliveryForm(HANGZHOU | changes)


def errors(**changes: Any) -> dict[str, list[str]]:
    return {name: list(map(str, found)) for name, found in form(**changes).errors.items()}


def test_a_whole_address_is_taken_as_it_is() -> None:
    filled = form()
    assert filled.is_valid(), filled.errors
    address = filled.instance
    assert {name: getattr(address, name) for name in HANGZHOU} == HANGZHOU


def test_postcodes_of_all_countries_are_taken() -> None:
    for country, postcode, region in (
        ("DE", "10115", ""),
        ("GB", "SW1A 1AA", ""),
        ("GB", "sw1a1aa", ""),
        ("US", "94103-1234", "California"),
        ("NL", "1012 AB", ""),
        ("IS", "101", ""),
        ("HK", "", "新界"),
        ("IE", "D02 X285", ""),
        ("CH", "CH-8000", ""),
        ("CN", "", "浙江省"),
    ):
        assert errors(country=country, postcode=postcode, region=region) == {}, (country, postcode)


def test_a_postcode_of_another_form_is_refused_with_an_example() -> None:
    for country, postcode in (
        ("DE", "1011"),
        ("GB", "SW1A 1AA 7"),
        ("US", "9410"),
        ("NL", "1012"),
        ("CN", "20005"),
    ):
        assert "One looks like this: " in errors(country=country, postcode=postcode)["postcode"][0], (country, postcode)


def test_a_postcode_of_another_region_is_refused() -> None:
    for country, region, postcode, taken in (
        ("US", "CA", "94103", True),
        ("US", "California", "94103-1234", True),
        ("US", "California", "10001", False),
        # An island of New York whose postcodes are those of Connecticut.
        ("US", "NY", "06390", True),
        ("CA", "Ontario", "K1A 0B1", True),
        ("CA", "Ontario", "V6B 4Y8", False),
        ("AU", "NSW", "2000", True),
        ("AU", "NSW", "3000", False),
        ("JP", "東京都", "154-0023", True),
        ("JP", "東京都", "530-0001", False),
        # Of China's mainland the package does not know them.
        ("CN", "浙江省", "100000", True),
    ):
        found = errors(country=country, region=region, city="x", postcode=postcode).get("postcode", [])
        assert (found == []) == taken, (postcode, found)
        assert taken or found[0].startswith(f"{postcode} is no postcode of "), found


def test_phone_numbers_are_taken_as_people_write_them() -> None:
    for phone in (
        "",
        "13800138000",
        "(030) 1234-5678",
        "+49 30/123456",
        "1.800.555.0199",
    ):
        assert errors(phone=phone, country="DE", postcode="10115") == {}, phone


def test_china_wants_a_mobile_number_or_one_from_abroad() -> None:
    for phone, taken in (
        ("138 0013 8000", True),
        ("+86 138-0013-8000", True),
        ("0086 13800138000", True),
        ("+49 30 123456", True),
        ("", False),
        ("021 5555 5555", False),
        ("1380013800", False),
        ("+86 21 5555 5555", False),
    ):
        assert ("phone" not in errors(phone=phone)) == taken, phone


def test_places_are_stored_as_their_country_writes_them() -> None:
    for typed, stored in (
        ({"region": "浙江", "city": "杭州", "district": "西湖"}, ("浙江省", "杭州市", "西湖区")),
        ({"region": "", "city": "杭州", "district": "西湖"}, ("浙江省", "杭州市", "西湖区")),
        ({"region": "Zhejiang", "city": "Hangzhou", "district": "Xihu"}, ("浙江省", "杭州市", "西湖区")),
        ({"region": "上海", "city": "长宁", "district": ""}, ("上海市", "长宁区", "")),
        # Newer than the lists.
        ({"district": "临平区"}, ("浙江省", "杭州市", "临平区")),
        ({"country": "US", "postcode": "94103", "region": "california", "city": "Berkeley"}, ("CA", "Berkeley", "")),
        ({"country": "DE", "postcode": "10115", "region": "Bayern", "city": "Berlin"}, ("", "Berlin", "")),
    ):
        filled = form(**typed)
        assert filled.is_valid(), filled.errors
        assert tuple(getattr(filled.instance, name) for name in ("region", "city", "district")) == stored, typed


def test_full_width_digits_and_needless_blanks_become_plain() -> None:
    filled = form(postcode="３１００１２", phone="＋８６ １３８００１３８０００", name="  Wang   Xiaoming ")
    assert filled.is_valid(), filled.errors
    address = filled.instance
    assert (address.postcode, address.phone, address.name) == ("310012", "+86 13800138000", "Wang Xiaoming")


def test_an_error_is_said_at_the_field_in_both_languages() -> None:
    for changes, field, english, chinese in (
        ({"name": " "}, "name", "Please enter the name of the person", "请填写收货人姓名"),
        ({"line1": ""}, "line1", "Please enter street and house number", "请填写街道和门牌号"),
        ({"city": ""}, "city", "Please enter the city", "请填写城市"),
        ({"country": ""}, "country", "Please choose a country", "请选择国家或地区"),
        ({"country": "ZZ"}, "country", "Please choose a country", "请选择国家或地区"),
        ({"postcode": "", "country": "DE"}, "postcode", "Please enter the postcode", "请填写邮政编码"),
        ({"phone": ""}, "phone", "Please enter a mobile number", "请填写手机号码"),
        ({"region": "Bayern"}, "region", "choose one from the list", "请从该国家或地区的列表中选择"),
        ({"region": "", "city": "Chaoyang"}, "region", "Please fill in “Province”.", "请填写省份。"),
        ({"country": "US", "postcode": "94103", "region": ""}, "region", "Please fill in “State”.", "请填写"),
        ({"district": ""}, "district", "Please fill in “District”.", "请填写区县。"),
        ({"postcode": "unknown"}, "postcode", "does not look like a postcode", "邮政编码"),
        ({"city": "南京市"}, "city", "南京市 is not in 浙江省 · Zhejiang", "南京市不属于浙江省"),
        ({"phone": "call me"}, "phone", "does not look like a phone number", "电话号码"),
        ({"phone": "12"}, "phone", "does not look like a phone number", "电话号码"),
        ({"line1": "x" * 201}, "line1", "at most 200", "200"),
    ):
        for language, expected in (("en", english), ("zh-hans", chinese)):
            with translation.override(language):
                found = errors(**changes)
            assert list(found) == [field], changes
            assert expected in found[field][0], changes


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


def shown(**values: str) -> dict[str, str]:
    """The labels of the fields that the form shows for these first values, in its order."""
    return {field.name: str(field.label) for field in DeliveryForm(initial=values).visible_fields()}


def test_the_fields_are_those_of_the_country_in_its_order() -> None:
    with translation.override("en"):
        assert [*shown(country="CN")] == [
            *("name", "phone", "country", "region", "city", "district", "line1", "line2", "postcode")
        ]
        assert [*shown(country="DE")] == ["name", "country", "line1", "line2", "postcode", "city", "phone"]
        assert [*shown(country="US")] == ["name", "country", "line1", "line2", "city", "region", "postcode", "phone"]
        assert [*shown(country="HK")] == ["name", "country", "region", "city", "line1", "line2", "phone"]
        assert shown(country="US")["region"] == "State"
        assert shown(country="GB")["city"] == "Town"
        assert (shown(country="CN")["phone"], shown(country="DE")["phone"]) == ("Mobile number", "Phone (optional)")
        assert shown(country="CN")["postcode"] == "Postcode (optional)"
        # The city decides whether there are districts to choose from. Dongguan has none.
        assert shown(country="CN")["district"] == "District"
        assert shown(country="CN", region="广东省", city="东莞市")["district"] == "District (optional)"
    with translation.override("zh-hans"):
        labels = shown(country="CN", region="浙江省", city="杭州市")
        assert [labels[name] for name in ("region", "city", "district")] == ["省份", "城市", "区县"]
        # Districts of a city that is a province too.
        labels = shown(country="CN", region="上海市")
        assert (labels["city"], "district" in labels) == ("区县", False)


def choices(name: str, **values: str) -> list[str]:
    """What is to be chosen from; nothing for a text field."""
    return [str(value) for value, _label in getattr(DeliveryForm(initial=values).fields[name].widget, "choices", ())]


def test_the_lists_depend_on_each_other() -> None:
    in_china = {"country": "CN"}
    assert {"浙江省", "上海市"} <= {*choices("region", **in_china)}
    assert not choices("city", **in_china)
    assert {"杭州市", "宁波市"} <= {*choices("city", **in_china, region="浙江省")}
    assert "西湖区" in choices("district", **in_china, region="浙江省", city="杭州市")
    assert "长宁区" in choices("city", **in_china, region="上海市")
    assert {"CA", "NY"} <= {*choices("region", country="US")}
    assert not choices("region", country="DE")


def test_a_place_that_the_lists_lack_is_typed() -> None:
    assert not choices("city", country="CN", region="浙江省", city="-")
    hangzhou = {"country": "CN", "region": "浙江省", "city": "杭州市"}
    kept = DeliveryForm(initial=hangzhou | {"district": "临平区"})
    assert (kept["district"].value(), choices("district", **hangzhou, district="临平区")) == ("临平区", [])
    assert form(city="-").errors.keys() == {"city"}


def test_another_country_or_province_empties_the_places_below() -> None:
    former = {
        "country": "CN",
        "region": "浙江省",
        "city": "杭州市",
        "district": "西湖区",
        "shown_for": "CN/浙江省/杭州市",
    }
    for changes, left in (
        ({"district": "上城区"}, ("浙江省", "杭州市", "上城区")),
        ({"city": "宁波市"}, ("浙江省", "宁波市", "")),
        ({"region": "江苏省"}, ("江苏省", "", "")),
        ({"country": "US"}, ("", "", "")),
    ):
        refreshed = DeliveryForm(initial=former | changes)
        assert tuple(refreshed[name].value() for name in ("region", "city", "district")) == left


def test_an_empty_form_begins_with_the_shops_country(settings: Settings) -> None:
    settings.SHOP_COUNTRY = "DE"
    assert DeliveryForm()["country"].value() == "DE"
    assert DeliveryForm(initial={"country": "FR"})["country"].value() == "FR"
    assert DeliveryForm(countries=frozenset({"CN"}))["country"].value() is None


def test_browsers_know_what_to_fill_in() -> None:
    html = str(DeliveryForm())
    for word in ("shipping postal-code", "shipping address-line1", "shipping country", 'type="tel"'):
        assert word in html
