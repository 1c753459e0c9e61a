from django.contrib import admin
from django.urls import path

from web.api_docs import problem_pages
from web.api_docs.schema_file import SchemaFile
from web.board import pages as board
from web.finder.finder import find_page
from web.home import home_page
from web.metrics import scrape

urlpatterns = [
    path("metrics", scrape.metrics, name="metrics"),
    # A page among those of the sale, which stand behind it.
    path("admin/seckill/sale/<int:sale_id>/board/", admin.site.admin_view(board.board_page), name="board"),
    path("admin/find/", admin.site.admin_view(find_page), name="admin-find"),
    path("board/<int:sale_id>/", board.board_figures, name="board-figures"),
    path("board/home/", home_page.home_parts, name="home-parts"),
    path("api/schema/", SchemaFile.as_view(), name="schema"),
    path("api/docs/problems/", problem_pages.all_problems, name="api-problems"),
    path("api/docs/problems/<slug:code>/", problem_pages.one_problem, name="api-problem"),
]
