"""The people of demo orders."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from bench.demo.demo_people import load_people


@pytest.mark.django_db
def test_people_who_were_deleted_are_made_up_for_under_new_numbers() -> None:
    people = load_people(12, now=timezone.now())
    people[3].delete()
    User.objects.create_user("demo-of-someone-99", password="a password of their own")
    again = load_people(12, now=timezone.now())
    assert len(again) == 12
    assert again[-1].username.endswith("-12")
