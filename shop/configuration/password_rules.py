"""How passwords are hashed, and which are refused; and the forms that take the code of a second factor."""

from typing import Any

from django.contrib.auth.hashers import Argon2PasswordHasher

DJANGO_RULES = "django.contrib.auth.password_validation"

# Passwords of the releases before are PBKDF2. Each is hashed again when its owner signs in.
HASHERS = [
    "shop.configuration.password_rules.SmallArgon2Hasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]

# By allauth's names (the setting MFA_FORMS).
CODE_FORMS = {
    "activate_totp": "shop.accounts.second_factor.ActivateTotpForm",
    "authenticate": "shop.accounts.second_factor.AuthenticateForm",
    "reauthenticate": "shop.accounts.second_factor.ReauthenticateForm",
}


class SmallArgon2Hasher(Argon2PasswordHasher):
    """Argon2id with 19 MiB, two passes and one lane: the least that OWASP's Password Storage Cheat Sheet asks for.

    Django's own figures take 100 MiB for each hash, and a crowd that signs in makes many at once.
    """

    time_cost = 2
    memory_cost = 19 * 1024  # KiB
    parallelism = 1


def password_rules(*, ask_breached: bool) -> list[dict[str, Any]]:
    """The setting AUTH_PASSWORD_VALIDATORS.

    With `ask_breached`, Have I Been Pwned is asked whether a password is known from a breach. It gets the first five
    characters of the password's SHA-1 alone. If it gives no answer within a second, Django's list decides.
    """
    common = f"{DJANGO_RULES}.CommonPasswordValidator"
    if ask_breached:
        common = "pwned_passwords_django.validators.PwnedPasswordsValidator"
    others = ("UserAttributeSimilarity", "MinimumLength", "NumericPassword")
    return [{"NAME": name} for name in (common, *(f"{DJANGO_RULES}.{other}Validator" for other in others))]
