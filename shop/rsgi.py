"""What the web server calls: `granian --interface rsgi shop.rsgi:application`."""

# First, since it loads the settings and the apps.
from shop.wsgi import application as wsgi_application

# isort: split
from django.conf import settings
from django.utils.module_loading import import_string

from shop.web.lanes import lanes
from shop.web.rsgi_application import BODY_SECONDS_MAX, RsgiApplication
from shop.web.shells import Shells

# By name, since `shop` imports nothing of `seckill`.
hot_lane = import_string("seckill.gate.hot_lane.HotLane")(wsgi_application)
gate = import_string("seckill.gate.gate.Gate")() if settings.GATE else None
shells = Shells(wsgi_application) if settings.GATE else None
application = RsgiApplication(hot_lane, lanes=lanes(), body_seconds_max=BODY_SECONDS_MAX, gate=gate, shells=shells)
