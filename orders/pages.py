from uuid import UUID

from django.http import HttpRequest, HttpResponse


def orders(request: HttpRequest) -> HttpResponse:
    return HttpResponse("soon")


def order(request: HttpRequest, number: UUID) -> HttpResponse:
    return HttpResponse("soon")
