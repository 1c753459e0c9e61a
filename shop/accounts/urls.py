from django.urls import include, path

from shop.accounts import address_pages, session_pages, token_pages

urlpatterns = [
    path("addresses/", address_pages.addresses, name="addresses"),
    path("addresses/new/", address_pages.address, name="address-new"),
    path("addresses/<uuid:address_id>/", address_pages.address, name="address"),
    path("addresses/<uuid:address_id>/delete/", address_pages.delete, name="address-delete"),
    path("tokens/", token_pages.tokens, name="tokens"),
    path("tokens/new/", token_pages.make, name="token-new"),
    path("tokens/revoke/", token_pages.revoke, name="token-revoke"),
    path("sessions/<int:session_id>/end/", session_pages.end, name="session-end"),
    path("sessions/", include("allauth.usersessions.urls")),
    path("2fa/", include("allauth.mfa.urls")),
    path("", include("allauth.account.urls")),
]
