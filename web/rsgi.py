"""The web server's entry point: `granian --interface rsgi web.rsgi:application`. One object a web process."""

# First, since it loads the settings and the apps.
from shop.wsgi import application as wsgi_application

# isort: split
from django.conf import settings

from seckill.store.pipeline.asking import Pipelines
from shop.configuration.database_connections import bound_statements
from web.application import FrontDoor
from web.board.answers import BoardAnswers
from web.board.pages import boards
from web.lanes import lanes
from web.list_answers import ListAnswers
from web.reservations.gate import Gate
from web.reservations.headers import ViewAnswers
from web.reservations.hot_lane import HotLane
from web.shells import Shells
from web.warm_start import WarmStart, connect_to_database, connect_to_store, read_open_sales

bound_statements(settings.DATABASES)
views = ViewAnswers()
gate = Gate(views=views) if settings.GATE else None
shells = Shells(wsgi_application)
all_lanes = lanes()
pipelines = Pipelines()
application = FrontDoor(
    wsgi_application,
    lanes=all_lanes,
    hot_lane=HotLane(views=views, pipelines=pipelines, gate=gate),
    shells=shells if settings.GATE else None,
    lists=ListAnswers(wsgi_application) if settings.GATE else None,
    board_answers=BoardAnswers(boards.looked_at),
    warm_start=WarmStart(
        # The lanes with SQL that a crowd fills. The connections of the others are opened when they are needed.
        lanes=[lane for lane in all_lanes if lane.name in ("live", "pages")],
        connect_to_database=connect_to_database,
        connect_to_store=connect_to_store,
        pipelines=pipelines,
        read_sales=read_open_sales,
        gate=gate,
        # Rendering loads Django's parts, even where pages are not kept.
        pages=shells,
    ),
)
