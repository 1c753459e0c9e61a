"""Which of allauth's forms the shop replaces, and which of its limits."""

FORMS = {
    name: f"shop.accounts.allauth_forms.{form}"
    for name, form in {
        "login": "SignInForm",
        "signup": "SignUpForm",
        "reset_password": "PasswordResetForm",
        "reset_password_from_key": "NewPasswordForm",
        "set_password": "FirstPasswordForm",
        "change_password": "PasswordChangeForm",
        "reauthenticate": "PasswordAgainForm",
        "add_email": "NewAddressForm",
    }.items()
}

# The shop limits sign-ins, sign-ups and password resets itself (shop/accounts/sign_in.py, shop/accounts/limits.py). Of
# allauth's limits, `login_failed` is left for the codes of the second factor, and `confirm_email` says how often one
# address gets a mail that asks to confirm it.
RATE_LIMITS = {
    "login": None,
    "signup": None,
    "reset_password": None,
    "login_failed": "5/5m/key",
    "confirm_email": "1/3m/key,6/d/key",
}
