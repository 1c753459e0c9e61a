"""What pages show: the picture of a product, and how long something lasts."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.template import Context, Template
from django.utils import translation
from pytest_django import Settings

from shop.models import Picture, Product
from shop.times.time_left import duration, remaining
from tests.steps.shop import add_picture

pytestmark = pytest.mark.django_db


def test_a_product_without_a_picture_always_has_the_same_one_with_a_text(product: Product) -> None:
    template = Template("{% load product_picture %}{% product_picture product %}")
    drawings = {template.render(Context({"product": product})) for _ in range(2)}
    assert len(drawings) == 1
    drawing = drawings.pop()
    assert 'role="img" aria-label="Placeholder picture: Longjing tea"' in drawing
    with translation.override("zh-hans"):
        assert ">龙</text>" in template.render(Context({"product": product}))
    product.slug = "another"
    assert template.render(Context({"product": product})) != drawing


def test_a_product_shows_its_first_picture_in_the_size_of_its_place(
    product: Product, tmp_path: Path, settings: Settings
) -> None:
    settings.MEDIA_ROOT = tmp_path
    for position, alt in ((2, "From behind"), (1, "A tin of tea")):
        add_picture(product, alt=alt, position=position)
    template = Template("{% load product_picture %}{% product_picture product %}{% product_picture product 'page' %}")
    card, page = re.findall(r"<img[^>]*>", template.render(Context({"product": product})))
    for picture, size in ((card, 640), (page, 1200)):
        assert 'alt="A tin of tea"' in picture
        assert f'width="{size}" height="{size}"' in picture
    assert 'loading="lazy"' in card
    # A picture that nobody described is described by the product's name.
    Picture.objects.update(alt_en="")
    assert 'alt="Longjing tea"' in template.render(Context({"product": product}))


def test_the_time_left_is_written_as_a_clock() -> None:
    for left, text in (
        (timedelta(0), "00:00"),
        (timedelta(milliseconds=1), "00:01"),
        (timedelta(seconds=44), "00:44"),
        (timedelta(minutes=14, seconds=59), "14:59"),
        (timedelta(hours=1, minutes=59, seconds=59), "1:59:59"),
        (timedelta(days=1), "1 day 00:00:00"),
        (timedelta(days=2, hours=3, minutes=4, seconds=5), "2 days 03:04:05"),
    ):
        assert remaining(left) == text


def test_how_long_something_lasts_is_said_in_words() -> None:
    for seconds, english, chinese in (
        (1, "1 second", "1 秒"),
        (40, "40 seconds", "40 秒"),
        (90, "1 minute 30 seconds", "1 分钟 30 秒"),
        (900, "15 minutes", "15 分钟"),
        (5400, "1 hour 30 minutes", "1 小时 30 分钟"),
    ):
        for language, text in (("en", english), ("zh-hans", chinese)):
            with translation.override(language):
                assert duration(seconds) == text
