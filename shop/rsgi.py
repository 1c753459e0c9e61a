"""What the web server calls: `granian --interface rsgi shop.rsgi:application`."""

# First, since it loads the settings and the apps.
from shop.wsgi import application as wsgi_application

# isort: split
from django.conf import settings
from django.utils.module_loading import import_string

from shop.web.lanes import lanes
from shop.web.rsgi_application import BODY_SECONDS_MAX, RsgiApplication
from shop.web.shells import Shells
from shop.web.warm_start import WarmStart

# By name, since `shop` imports nothing of `seckill` and `orders`.
read_call = import_string("seckill.gate.calls.read_call")
views = import_string("seckill.gate.view_answers.ViewAnswers")()
find_status = import_string("orders.reservation_status.find_status")
hot_lane = import_string("seckill.gate.hot_lane.HotLane")(views=views, find_status=find_status)
gate = import_string("seckill.gate.gate.Gate")(views=views) if settings.GATE else None
shells = Shells(wsgi_application) if settings.GATE else None
all_lanes = lanes()
warm_start = WarmStart(
    # The lanes with SQL that a crowd fills. The connections of the others are opened when they are needed.
    lanes=[lane for lane in all_lanes if lane.name in ("live", "pages")],
    connect_to_database=import_string("seckill.gate.open_sales.connect_to_database"),
    connect_to_store=import_string("seckill.gate.open_sales.connect_to_store"),
    read_sales=import_string("seckill.gate.open_sales.read_open_sales"),
    gate=gate,
    # Rendering loads Django's parts, also where the pages are not kept.
    pages=shells or Shells(wsgi_application),
)
application = RsgiApplication(
    wsgi_application,
    lanes=all_lanes,
    body_seconds_max=BODY_SECONDS_MAX,
    read_call=read_call,
    views=views,
    hot_lane=hot_lane,
    gate=gate,
    shells=shells,
    warm_up=warm_start.run,
)
