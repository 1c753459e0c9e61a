"""The settings of allauth."""

from typing import Any

SETTINGS: dict[str, Any] = {
    "ACCOUNT_ADAPTER": "shop.accounts.allauth_adapter.AccountAdapter",
    "ACCOUNT_FORMS": {
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
    },
    "ACCOUNT_LOGIN_METHODS": {"username", "email"},
    "ACCOUNT_SIGNUP_FIELDS": ["username*", "email*", "password1*", "password2*"],
    "ACCOUNT_LOGOUT_REDIRECT_URL": "home",
    # Buying does not wait for a mail. What an unconfirmed address cannot do: shop/accounts/sign_in.py.
    "ACCOUNT_EMAIL_VERIFICATION": "optional",
    "ACCOUNT_EMAIL_CONFIRMATION_ANONYMOUS_REDIRECT_URL": "account_login",
    "ACCOUNT_EMAIL_CONFIRMATION_AUTHENTICATED_REDIRECT_URL": "account",
    # An account has one address; a new one takes its place when it is confirmed.
    "ACCOUNT_CHANGE_EMAIL": True,
    # Signing up with an address that has an account looks like any other sign-up.
    "ACCOUNT_PREVENT_ENUMERATION": "strict",
    # Whoever finds an open browser cannot take the account over: a change of the address asks for the password again,
    # and its owner hears by mail of each change of password, address or second factor.
    "ACCOUNT_REAUTHENTICATION_REQUIRED": True,
    "ACCOUNT_EMAIL_NOTIFICATIONS": True,
    # The shop limits sign-ins, sign-ups and password resets itself (shop/accounts/sign_in.py, shop/accounts/limits.py).
    # Of allauth's limits, `login_failed` is left for the codes of the second factor, and `confirm_email` says how often
    # one address gets a mail that asks to confirm it.
    "ACCOUNT_RATE_LIMITS": {
        "login": None,
        "signup": None,
        "reset_password": None,
        "login_failed": "5/5m/key",
        "confirm_email": "1/3m/key,6/d/key",
    },
    "MFA_TOTP_ISSUER": "Stampede",
    # A code of the step before is accepted: people type slowly, and phones' clocks are some seconds off.
    "MFA_TOTP_TOLERANCE": 1,
    # An unconfirmed address opens nothing, so it need not keep a second factor out.
    "MFA_ALLOW_UNVERIFIED_EMAIL": True,
}
