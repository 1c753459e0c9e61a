"""The rule of phases says the same in Python and in SQL."""

from datetime import timedelta

import pytest
from django.utils import timezone

from seckill.models import Sale
from seckill.phase import Phase, in_phase, phase_of

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def test_function_and_condition_agree() -> None:
    now = timezone.now()
    for hours_to_opening, unpaused in (
        (1, Phase.UPCOMING),
        (0, Phase.OPEN),
        (-1, Phase.OPEN),
        (-2, Phase.ENDED),
        (-3, Phase.ENDED),
    ):
        opens = now + hours_to_opening * HOUR
        for paused in (False, True):
            sale = Sale.objects.create(name="Late", opens_at=opens, closes_at=opens + 2 * HOUR, paused=paused)
            expected = Phase.PAUSED if paused and unpaused is not Phase.ENDED else unpaused
            assert sale.phase_at(now) is expected
            of_sale = Sale.objects.filter(pk=sale.pk)
            assert [phase for phase in Phase if of_sale.filter(in_phase(phase, now=now))] == [expected]


def test_milliseconds_do_as_well_as_datetimes() -> None:
    assert phase_of(opens=1_000, closes=2_000, now=999, paused=False) is Phase.UPCOMING
    assert phase_of(opens=1_000, closes=2_000, now=1_000, paused=False) is Phase.OPEN
    assert phase_of(opens=1_000, closes=2_000, now=2_000, paused=True) is Phase.ENDED
