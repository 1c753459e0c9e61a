from django.urls import path

from web import metrics
from web.api_docs import problems

urlpatterns = [
    path("metrics", metrics.metrics, name="metrics"),
    path("api/docs/problems/", problems.all_problems, name="api-problems"),
    path("api/docs/problems/<slug:code>/", problems.one_problem, name="api-problem"),
]
