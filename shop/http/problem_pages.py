"""`/api/docs/problems/`: the pages to which the member `type` of each problem leads, in the reader's language."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from shop.http.problem_catalogue import BY_CODE, EXPLAINED


def all_problems(request: HttpRequest) -> HttpResponse:
    """The table of all codes."""
    return render(request, "shop/problems.html", {"problems": EXPLAINED})


def one_problem(request: HttpRequest, code: str) -> HttpResponse:
    """What one code means, and what to do."""
    if code not in BY_CODE:
        raise Http404
    return render(request, "shop/problem.html", {"problem": BY_CODE[code]})
