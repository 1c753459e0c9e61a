"""A person's e-mail address that staff have changed. allauth keeps addresses in a table of its own."""

from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.db import transaction


def follow_staff(*, person: User) -> None:
    """Make allauth's table agree with `person.email`. Every former address goes: it signs in no more.

    The new one is not confirmed, since nobody has shown that it is the person's. One that was confirmed before stays
    so, as where staff only write it in small letters.
    """
    email = person.email.lower()
    with transaction.atomic():
        EmailAddress.objects.filter(user=person).exclude(email=email).delete()
        if email:
            EmailAddress.objects.update_or_create(user=person, email=email, defaults={"primary": True})
