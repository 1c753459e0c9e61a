"""Pages of a plain list. The addresses of the other pages are in the header `Link` (RFC 8288)."""

from typing import Any

from rest_framework.exceptions import NotFound
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response


class LinkPages(PageNumberPagination):
    page_size = 20

    def get_page_number(self, request: Request, paginator: Any) -> Any:
        if request.query_params.get(self.page_query_param) == "":
            raise NotFound
        return super().get_page_number(request, paginator)

    def get_paginated_response(self, data: Any) -> Response:
        return Response(data, headers=link_header(previous=self.get_previous_link(), next_=self.get_next_link()))

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return schema


def link_header(*, previous: str | None, next_: str | None) -> dict[str, str] | None:
    addresses = {"prev": previous, "next": next_}
    links = [f'<{address}>; rel="{name}"' for name, address in addresses.items() if address]
    return {"Link": ", ".join(links)} if links else None
