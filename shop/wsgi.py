"""Django as a WSGI application, which `web/rsgi.py` calls. A WSGI server can too, but its threads wait for bodies."""

import os

import django

from shop.configuration.lasting_objects import loading
from shop.http.utf8_requests import Utf8Application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")

with loading():
    django.setup(set_prefix=False)
    application = Utf8Application()
