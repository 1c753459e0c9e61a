"""What the web server calls: `granian --interface rsgi shop.rsgi:application`."""

# First, since it loads the settings and the apps.
from shop.wsgi import application as wsgi_application

# isort: split
from django.conf import settings
from django.utils.module_loading import import_string

from shop.web.lanes import lanes
from shop.web.rsgi_application import BODY_SECONDS_MAX, RsgiApplication
from shop.web.shells import Shells

# By name, since `shop` imports nothing of `seckill` and `orders`.
read_call = import_string("seckill.gate.calls.read_call")
views = import_string("seckill.gate.view_answers.ViewAnswers")()
find_status = import_string("orders.reservation_status.find_status")
hot_lane = import_string("seckill.gate.hot_lane.HotLane")(views=views, find_status=find_status)
gate = import_string("seckill.gate.gate.Gate")(views=views) if settings.GATE else None
shells = Shells(wsgi_application) if settings.GATE else None
application = RsgiApplication(
    wsgi_application,
    lanes=lanes(),
    body_seconds_max=BODY_SECONDS_MAX,
    read_call=read_call,
    views=views,
    hot_lane=hot_lane,
    gate=gate,
    shells=shells,
)
