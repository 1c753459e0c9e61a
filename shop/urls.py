from allauth.account.decorators import secure_admin_login
from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView
from django.views.i18n import JavaScriptCatalog
from drf_spectacular.views import SpectacularSwaggerSplitView

from shop.http import health
from shop.languages.language_choice import choose_language
from shop.staff.admin_base import on_site

# By the first address that is looked up: workers and most commands start in half the time without the admin.
admin.autodiscover()

api = [
    path("", include("shop.api_urls")),
    path("", include("seckill.api.urls")),
    path("", include("orders.api_urls")),
]

urlpatterns = [
    # With one address for all languages; `shop/languages/page_language.py` has the same division.
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("", include("web.urls")),
    # Before the admin's own pages: staff sign in and change passwords where buyers do, with the limits of there.
    path("admin/login/", secure_admin_login(admin.site.login)),
    path("admin/password_change/", RedirectView.as_view(pattern_name="account_change_password")),
    # Django's catalogue of what the admin's scripts say lacks some texts, which the shop's has.
    path(
        "admin/jsi18n/",
        admin.site.admin_view(JavaScriptCatalog.as_view(packages=["django.contrib.admin", "shop"]), cacheable=True),
        name="jsi18n",
    ),
    path("admin/r/<path:content_type_id>/<path:object_id>/", admin.site.admin_view(on_site)),
    path("admin/", admin.site.urls),
    path("i18n/setlang/", choose_language, name="set_language"),
    path("", include("shop.pictures.local_files")),
    path("api/v1/", include(api)),
    path(
        "api/docs/",
        SpectacularSwaggerSplitView.as_view(
            url_name="schema", authentication_classes=[], permission_classes=[], template_name="shop/api_docs.html"
        ),
        name="docs",
    ),
    # Pages: English at `/`, the other languages under their code.
    *i18n_patterns(
        path("accounts/", include("shop.accounts.urls")),
        path("", include("seckill.urls")),
        path("", include("shop.catalogue.urls")),
        path("", include("orders.urls")),
        prefix_default_language=False,
    ),
]

handler400 = "shop.http.problems.bad_request"
handler403 = "shop.http.problems.forbidden"
handler404 = "shop.http.problems.not_found"
handler429 = "shop.http.problems.too_many_requests"
handler500 = "shop.http.problems.server_error"
