from django.urls import include, path

from shop.accounts import pages

urlpatterns = [
    path("addresses/", pages.addresses, name="addresses"),
    path("addresses/new/", pages.address, name="address-new"),
    path("addresses/<uuid:address_id>/", pages.address, name="address"),
    path("addresses/<uuid:address_id>/delete/", pages.ask_to_delete_address, name="address-delete"),
    path("tokens/", pages.tokens, name="tokens"),
    path("tokens/new/", pages.make_token, name="token-new"),
    path("tokens/revoke/", pages.revoke_token, name="token-revoke"),
    path("sessions/<int:session_id>/end/", pages.end_session, name="session-end"),
    path("sessions/", include("allauth.usersessions.urls")),
    path("2fa/", include("allauth.mfa.urls")),
    path("", include("allauth.account.urls")),
]
