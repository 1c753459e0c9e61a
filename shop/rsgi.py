"""What the web server calls: `granian --interface rsgi shop.rsgi:application`."""

# First, since it loads the settings and the apps.
from shop.wsgi import application as wsgi_application

# isort: split
from shop.web.lanes import lanes
from shop.web.rsgi_application import BODY_SECONDS_MAX, RsgiApplication

application = RsgiApplication(wsgi_application, lanes=lanes(), body_seconds_max=BODY_SECONDS_MAX)
