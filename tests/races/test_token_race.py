"""Sign-ins at the same moment never leave a user with more tokens than one may have."""

import pytest
from django.contrib.auth.models import User

from shop.accounts.tokens import TOKENS_PER_USER_MAX, new_token
from shop.models import ApiToken
from tests.steps.at_once import at_once

THREADS = 20


@pytest.mark.django_db(transaction=True)
def test_twenty_tokens_at_once_leave_ten(buyer: User) -> None:
    at_once([lambda: new_token(buyer)] * THREADS)
    assert ApiToken.objects.filter(user=buyer).count() == TOKENS_PER_USER_MAX
