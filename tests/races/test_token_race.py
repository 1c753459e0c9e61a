"""Sign-ins at the same moment never leave a user with more tokens than one may have."""

import threading

import pytest
from django.contrib.auth.models import User
from django.db import connection

from shop.accounts.tokens import TOKENS_PER_USER_MAX, new_token
from shop.models import ApiToken

THREADS = 20


@pytest.mark.django_db(transaction=True)
def test_twenty_tokens_at_once_leave_ten(buyer: User) -> None:
    barrier = threading.Barrier(THREADS)

    def sign_in() -> None:
        try:
            barrier.wait(timeout=30)
            new_token(buyer)
        finally:
            connection.close()

    threads = [threading.Thread(target=sign_in) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ApiToken.objects.filter(user=buyer).count() == TOKENS_PER_USER_MAX
