"""What allauth asks of the shop: how a password is checked, and from where a request comes."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest, HttpResponse

from shop.accounts.sign_in import check_password
from shop.http.client_address import client_address
from shop.http.problems import limit_reached
from shop.http.rate_limits import LimitReached
from shop.languages.language_choice import bring_language


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    def authenticate(self, request: HttpRequest, **credentials: Any) -> AbstractBaseUser | None:
        """For the sign-in page, which is the admin's too, and for the page that asks for the password again."""
        try:
            return check_password(request, username=credentials["username"], password=credentials["password"])
        except LimitReached as error:
            raise ImmediateHttpResponse(limit_reached(request, error)) from error

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request)

    def post_login(self, request: HttpRequest, user: AbstractBaseUser, **more: Any) -> HttpResponse:
        response: HttpResponse = super().post_login(request, user, **more)
        bring_language(response, request, user_id=user.pk)
        return response
