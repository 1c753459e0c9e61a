from django.http import HttpRequest, HttpResponse


def home(request: HttpRequest) -> HttpResponse:
    return HttpResponse("soon")


def sale(request: HttpRequest, pk: int) -> HttpResponse:
    return HttpResponse("soon")
