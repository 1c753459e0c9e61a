from django.urls import path

from web.api_docs import problem_pages
from web.metrics import scrape

urlpatterns = [
    path("metrics", scrape.metrics, name="metrics"),
    path("api/docs/problems/", problem_pages.all_problems, name="api-problems"),
    path("api/docs/problems/<slug:code>/", problem_pages.one_problem, name="api-problem"),
]
