from django.urls import path

from orders import metrics

urlpatterns = [path("metrics", metrics.metrics, name="metrics")]
