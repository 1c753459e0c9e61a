from django.urls import path

from web import metrics
from web.api_docs import problem_pages

urlpatterns = [
    path("metrics", metrics.metrics, name="metrics"),
    path("api/docs/problems/", problem_pages.all_problems, name="api-problems"),
    path("api/docs/problems/<slug:code>/", problem_pages.one_problem, name="api-problem"),
]
