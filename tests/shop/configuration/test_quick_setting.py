"""A setting as hot calls read it."""

import pytest
from django.conf import settings as django_settings
from django.test import override_settings

from shop.configuration.quick_setting import setting


def test_it_follows_each_change() -> None:
    before = setting("SECKILL_BACKLOG_MAX")
    assert before == django_settings.SECKILL_BACKLOG_MAX
    with override_settings(SECKILL_BACKLOG_MAX=7):
        assert setting("SECKILL_BACKLOG_MAX") == 7
    assert setting("SECKILL_BACKLOG_MAX") == before


def test_it_follows_a_value_that_is_set_without_a_word() -> None:
    """As the load tests do."""
    assert setting("SECKILL_BACKLOG_MAX")
    with override_settings():
        django_settings.SECKILL_BACKLOG_MAX = 7
        assert setting("SECKILL_BACKLOG_MAX") == 7
        del django_settings.SECKILL_BACKLOG_MAX
        with pytest.raises(AttributeError):
            setting("SECKILL_BACKLOG_MAX")
    assert setting("SECKILL_BACKLOG_MAX")
