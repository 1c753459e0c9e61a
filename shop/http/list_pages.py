"""Pages of lists by number, and of feeds, which grow at their start, by cursor. Both have the same bounds of a page.

A list is a plain array; the addresses of its other pages are in the header `Link` (RFC 8288), and `Total-Count` says
how many things there are on all of them.
"""

from typing import Any

from django.core.exceptions import ValidationError
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import remove_query_param, replace_query_param

from shop.http.serializers import QueryParameters

PAGE_SIZE = 20
PAGE_SIZE_MAX = 100
# Later pages are not read, and PostgreSQL would count all the rows before them.
PAGES_MAX = 10_000


class SizeParameter(QueryParameters):
    page_size = serializers.IntegerField(min_value=1, max_value=PAGE_SIZE_MAX, default=PAGE_SIZE)


class PageParameters(SizeParameter):
    page = serializers.IntegerField(min_value=1, max_value=PAGES_MAX, default=1)


class FeedParameters(SizeParameter):
    cursor = serializers.CharField(
        required=False, max_length=500, help_text="From `next` or `previous` of another page."
    )


def list_answer(request: Request, data: Any, *, count: int, page: int, page_size: int) -> Response:
    """The page of a list that has `count` things. Raises NotFound beyond the last page."""
    if page > 1 and not data:
        raise NotFound
    links = []
    if page > 1:
        links.append(f'<{page_address(request, page - 1)}>; rel="prev"')
    if page * page_size < count:
        links.append(f'<{page_address(request, page + 1)}>; rel="next"')
    headers = {"Link": ", ".join(links)} if links else {}
    return Response(data, headers={**headers, "Total-Count": str(count)})


def page_address(request: Request, number: int) -> str:
    address = request.build_absolute_uri()
    return remove_query_param(address, "page") if number == 1 else replace_query_param(address, "page", number)


class FeedPages(CursorPagination):
    page_size = PAGE_SIZE
    page_size_query_param = "page_size"
    max_page_size = PAGE_SIZE_MAX

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        try:
            return super().paginate_queryset(queryset, request, view)
        except ValidationError:
            # It has the form of a cursor, but not one of ours: no row has such a time.
            raise NotFound(self.invalid_cursor_message) from None

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {**super().get_paginated_response_schema(schema), "required": ["next", "previous", "results"]}
