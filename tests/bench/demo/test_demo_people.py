"""The people of the demo shop live where its own rules for addresses allow it."""

import random

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from bench.demo.demo_people import CHINESE_CITIES, OTHER_CITIES, address_of, load_people
from shop.addresses.address_checks import address_errors, tidy_address


def test_each_address_is_one_that_the_shop_takes_as_it_is() -> None:
    for is_chinese, cities in ((True, CHINESE_CITIES), (False, OTHER_CITIES)):
        addresses = [address_of("Wei Wang", is_chinese, random.Random(number)) for number in range(100)]
        assert len({address["city"] for address in addresses}) == len(cities)
        for address in addresses:
            tidied = tidy_address(address)
            assert address_errors(tidied) == {}, address
            assert {name: tidied[name] for name in address} == address


@pytest.mark.django_db
def test_people_who_were_deleted_are_made_up_for_under_new_numbers() -> None:
    people = load_people(12, now=timezone.now())
    people[3].delete()
    User.objects.create_user("demo-of-someone-99", password="a password of their own")
    again = load_people(12, now=timezone.now())
    assert len(again) == 12
    assert again[-1].username.endswith("-12")
