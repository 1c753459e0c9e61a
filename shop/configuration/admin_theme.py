"""The admin's look: the colours, the logo and the languages of the shop, in the words of django-unfold."""

from typing import Any

from django.templatetags.static import static

LOGO = "shop/logo.svg"

# Around the accents of shop.css: #b3241f on light ground is 600, #ff8a76 on dark ground is 400.
RED = {
    "50": "#fdf3f1",
    "100": "#fce4df",
    "200": "#f9cdc4",
    "300": "#f6ab9c",
    "400": "#ff8a76",
    "500": "#f0705c",
    "600": "#b3241f",
    "700": "#951d19",
    "800": "#7a1a17",
    "900": "#641a17",
    "950": "#370a08",
}
# The ground, the lines and the inks of shop.css, light and dark.
SAND = {
    "50": "#faf7f2",
    "100": "#f2ece3",
    "200": "#e5dcd0",
    "300": "#d3c8bb",
    "400": "#a69a8e",
    "500": "#71665c",
    "600": "#5a5048",
    "700": "#453c35",
    "800": "#39312c",
    "900": "#1e1a18",
    "950": "#141110",
}

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Stampede",
    "SITE_HEADER": "Stampede",
    "SITE_URL": "/",
    "SITE_ICON": lambda request: static(LOGO),
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: static(LOGO)}],
    "COLORS": {"base": SAND, "primary": RED},
    "SHOW_HISTORY": True,
    "SHOW_LANGUAGES": True,
    "DASHBOARD_CALLBACK": "web.home.home_page.dashboard",
    "ACCOUNT": {"navigation": "web.sidebar.account"},
    "SIDEBAR": {"show_search": False, "navigation": "web.sidebar.navigation"},
}
