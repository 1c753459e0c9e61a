"""Django with nothing that it can do without. The database is that of the bench."""

import os

import environ

env = environ.Env()

SECRET_KEY = os.environ["SECRET_KEY"]
ALLOWED_HOSTS = ["127.0.0.1"]
INSTALLED_APPS = ["rest_framework", "bench.measure.speed.bare_site"]
MIDDLEWARE: list[str] = []
ROOT_URLCONF = "bench.measure.speed.bare_site.views"
WSGI_APPLICATION = "bench.measure.speed.bare_site.wsgi.application"
# A thread keeps its connection, as in the shop.
DATABASES = {"default": {**env.db_url("DATABASE_URL"), "CONN_MAX_AGE": 60}}
USE_TZ = True
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    # The anonymous user of Django needs the app `auth`.
    "UNAUTHENTICATED_USER": None,
}
