"""Django as a WSGI application, called by `shop/rsgi.py`. A WSGI server can call it too, but its threads wait for bodies."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")

application = get_wsgi_application()
