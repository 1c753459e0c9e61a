"""`granian --interface wsgi bench.measure.speed.bare_site.wsgi:application`."""

import os

from django.core.wsgi import get_wsgi_application

# Not setdefault: the environment names the settings of the shop.
os.environ["DJANGO_SETTINGS_MODULE"] = "bench.measure.speed.bare_site.settings"

application = get_wsgi_application()
