"""All codes of problems, and the pages `/api/docs/problems/`, to which the member `type` of each problem leads."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from orders import problem_codes as orders
from seckill.api import problem_codes as seckill
from shop.http import problem_codes as shop

# In the order of a purchase.
PROBLEMS = [*shop.SIGNING_IN, *seckill.PROBLEMS, *orders.PROBLEMS, *shop.ANY_CALL]
BY_CODE = {explained.code: explained for explained in PROBLEMS}


def all_problems(request: HttpRequest) -> HttpResponse:
    return render(request, "shop/problems.html", {"problems": PROBLEMS})


def one_problem(request: HttpRequest, code: str) -> HttpResponse:
    if code not in BY_CODE:
        raise Http404
    return render(request, "shop/problem.html", {"problem": BY_CODE[code]})
