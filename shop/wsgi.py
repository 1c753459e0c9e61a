"""Django as a WSGI application, which `web/rsgi.py` calls. A WSGI server can too, but its threads wait for bodies."""

import os

from django.core.wsgi import get_wsgi_application

from shop.configuration.lasting_objects import loading

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")

with loading():
    application = get_wsgi_application()
