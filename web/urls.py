from django.urls import path

from web import metrics

urlpatterns = [path("metrics", metrics.metrics, name="metrics")]
