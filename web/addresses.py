"""The addresses that the front door treats in a way of its own, each pattern once: lanes, ordinary calls, public pages.

A test compares them with the routes, and with the files of the proxies in deploy/.
"""

import re
from functools import lru_cache

from django.conf import settings
from django.urls import Resolver404, resolve

from shop.http.endpoints import OTHER, endpoint_of
from shop.languages.page_language import OTHER_LANGUAGES, path_in

# Routes take longer numbers too, which no row has; these calls are left to the views.
ITEM_CALL = re.compile(r"/api/v1/(sale-items|sales)/([1-9][0-9]{0,14})/(live|reservations|passes|queue)/")
# Of the longest path that it matches.
ITEM_CALL_LENGTH_MAX = len("/api/v1/sale-items/") + 15 + len("/reservations/")
STATUS = re.compile(r"/api/v1/reservations/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/")
ME = "/api/v1/me/"
# For the lanes of threads, with any number.
RESERVE = r"/api/v1/sale-items/\d+/reservations/"
LIVE = r"/api/v1/(sale-items|sales)/\d+/live/"
# Joining a waiting room and asking for a place: a crowd may come in the minutes before an opening.
QUEUE = r"/api/v1/sales/\d+/queue/"
# The figures of live boards, once a second for each who looks, and of the admin's first page.
BOARD = r"/board/(home|\d+)/"
DRAW_FILE = r"/api/v1/sales/\d+/draw/file/"
WEBHOOK = r"/api/v1/payments/[^/]+/webhook/"

LANGUAGE = rf"(?:(?:{'|'.join(OTHER_LANGUAGES)})/)?"
# Lists, searches, and products whose page is not in memory.
CATALOGUE = rf"/(?:api/v1/|{LANGUAGE})(search|products|categories)/(?s:.*)"
# Each call there may hash a password.
SIGN_IN = rf"/(?:api/v1/auth/|{LANGUAGE}accounts/(?:login|signup|reauthenticate|password)/)(?s:.*)"
ORDERS = rf"/(?:api/v1/|{LANGUAGE})(orders|pay|checkout)/(?s:.*)"
SLUG = r"[-a-zA-Z0-9_]{1,200}"
SALE = r"sales/[1-9][0-9]{0,17}/(?:draw/)?"
# The home page and the pages of sales, their draws, products and categories, in each language.
PUBLIC_PAGE = re.compile(rf"/{LANGUAGE}(?:{SALE}|products/(?:{SLUG}/)?|categories/{SLUG}/)?")
# Lists of the API and their details, which are the same for everybody. Comparing beginnings takes a sixth of the time,
# and of the calls of a stampede only the live figures of a sale have one of these.
PUBLIC_ANSWER = re.compile(rf"/api/v1/(?:sales/|{SALE}|products/(?:{SLUG}/)?|categories/)")
PUBLIC_ANSWER_BEGINNINGS = ("/api/v1/sales/", "/api/v1/products/", "/api/v1/categories/")
# The content of a list depends on its query, so a list is kept without a query only.
LIST = re.compile(rf"/{LANGUAGE}(?:products/|categories/{SLUG}/)")
# What a query chooses from: such answers are kept for a second.
PART_OF_LIST = re.compile(rf"/{LANGUAGE}(?:search/|products/|categories/{SLUG}/)|/api/v1/(?:sales|products)/")


# Public pages in memory, of which each process keeps fewer.
@lru_cache(maxsize=1024)
def endpoint_at(path: str) -> str:
    """The endpoint of a path in any language. In a thread that has chosen no language."""
    try:
        return endpoint_of(resolve(path_in(settings.LANGUAGE_CODE, path)))
    except Resolver404:
        return OTHER
