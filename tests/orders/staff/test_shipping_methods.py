"""Staff set up how orders are sent, and see what a parcel costs."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from orders.models import ShippingMethod, ShippingPrice
from tests.steps.staff import employee, messages_on

pytestmark = pytest.mark.usefixtures("_manager_signed_in")

METHODS = "/admin/orders/shippingmethod/"


def filled(*bands: tuple[str, str], **changes: Any) -> dict[str, Any]:
    """What the browser posts for a new method with these bands (up to, price)."""
    data: dict[str, Any] = {
        "name_en": "Post",
        "name_zh_hans": "邮政",
        "code": "post",
        "is_active": "on",
        "position": 0,
        "countries": ["CN", "DE"],
        "basis": "weight",
        "free_from_minor": "",
        "prices-TOTAL_FORMS": len(bands),
        "prices-INITIAL_FORMS": 0,
    }
    for number, (up_to, price) in enumerate(bands):
        data |= {f"prices-{number}-up_to": up_to, f"prices-{number}-price_minor": price}
    return data | changes


def errors_of_bands(response: Any) -> list[dict[str, list[str]]]:
    return [dict(form.errors) for form in response.context["inline_admin_formsets"][0].formset.forms]


def page_of(method: ShippingMethod) -> str:
    return reverse("admin:orders_shippingmethod_change", args=[method.pk])


def prices(method: ShippingMethod) -> list[tuple[int | None, int]]:
    return list(method.prices.values_list("up_to", "price_minor"))


def test_bounds_by_weight_are_grams_bounds_by_total_amounts_and_prices_minor_units(client: Client) -> None:
    assert client.post(f"{METHODS}add/", filled(("1000", "12.5"), ("", "0"))).status_code == 302
    method = ShippingMethod.objects.get()
    assert method.countries == ["CN", "DE"]
    assert prices(method) == [(1000, 1250), (None, 0)]
    by_total = filled(("99.90", "12"), ("", "0"), basis="total", code="total")
    response = client.post(f"{METHODS}add/", by_total)
    assert response.status_code == 302, errors_of_bands(response)
    method = ShippingMethod.objects.get(code="total")
    assert prices(method) == [(9990, 1200), (None, 0)]
    assert 'value="99.90"' in client.get(page_of(method)).content.decode()


def test_a_wrong_band_is_refused_at_its_field(client: Client) -> None:
    wrong: list[tuple[list[tuple[str, str]], list[dict[str, list[str]]]]] = [
        (
            [("1000", "-1"), ("2000", ""), ("0", "1")],
            [
                {"price_minor": ["The price must not be negative."]},
                {"price_minor": ["This field is required."]},
                {"up_to": ["Ensure this value is greater than or equal to 1."]},
            ],
        ),
        ([("", "1"), ("", "2")], [{}, {"up_to": ["There is a price for this already."]}]),
    ]
    for bands, errors in wrong:
        assert errors_of_bands(client.post(f"{METHODS}add/", filled(*bands))) == errors


def examples_of(response: Any) -> dict[str, str]:
    return {example.parcel: example.price for example in response.context["examples"]}


def test_examples_show_what_a_parcel_costs_to_staff_who_may_only_look_too(client: Client) -> None:
    method = ShippingMethod.objects.create(code="post", name="Post", free_from_minor=20_000)
    ShippingPrice.objects.create(method=method, up_to=1000, price_minor=1250)
    ShippingPrice.objects.create(method=method, up_to=5000, price_minor=2000)
    response = client.get(page_of(method))
    examples = examples_of(response)
    assert (examples["500 g"], examples["1 kg"], examples["2 kg"]) == ("12.50 CNY", "12.50 CNY", "20.00 CNY")
    assert examples["10 kg"] == "not offered"
    assert "200.00 CNY" in response.content.decode()
    # By total they are free where the checkout is.
    ShippingMethod.objects.update(basis="total")
    ShippingPrice.objects.filter(up_to=5000).delete()
    ShippingPrice.objects.update(up_to=10_000)
    examples = examples_of(client.get(page_of(method)))
    assert (examples["100.00 CNY"], examples["200.00 CNY"]) == ("12.50 CNY", "0.00 CNY")
    client.force_login(employee("view_shippingmethod"))
    page = client.get(page_of(method)).content.decode()
    assert "12.50 CNY" in page
    assert "1250" not in page
    assert client.post(page_of(method), filled()).status_code == 403


def test_a_method_without_a_price_is_saved_with_a_warning(client: Client) -> None:
    response = client.post(f"{METHODS}add/", filled(), follow=True)
    warning = "“Post” has no price, so buyers are not offered it."
    assert warning in messages_on(response)
    # By total, it may be free from a total on and not offered below.
    free = filled(basis="total", free_from_minor="50", code="free")
    assert warning not in messages_on(client.post(f"{METHODS}add/", free, follow=True))


def test_staff_who_take_the_last_method_away_are_warned_that_delivery_is_free_now(client: Client) -> None:
    warning = "No shipping method is offered now, so all orders are sent free of charge, to every country."
    assert warning not in messages_on(client.post(f"{METHODS}add/", filled(("", "1")), follow=True))
    last = ShippingMethod.objects.get()
    other = ShippingMethod.objects.create(code="other", name="Other")
    off = filled(is_active="")
    assert warning not in messages_on(client.post(page_of(last), off, follow=True))
    ShippingMethod.objects.filter(pk=other.pk).update(is_active=False)
    assert warning in messages_on(client.post(page_of(last), off, follow=True))
    ShippingMethod.objects.filter(pk=other.pk).update(is_active=True)
    delete = reverse("admin:orders_shippingmethod_delete", args=[other.pk])
    assert warning in messages_on(client.post(delete, {"post": "yes"}, follow=True))
    chosen = {"action": "delete_selected", "_selected_action": [last.pk], "post": "yes"}
    assert warning in messages_on(client.post(METHODS, chosen, follow=True))
    assert not ShippingMethod.objects.exists()
