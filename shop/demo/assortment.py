"""The assortment of the demo shop: categories in a tree of two levels, products in the lower ones, and their variants.

Products and variants are tables that staff could upload as well. Beside the columns of those, a variant has its stock
(one is sold out, to show what that looks like), and a product its pictures: a drawing of our own below `pictures/`, and
what is to be seen.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

PICTURES = Path(__file__).parent / "pictures"


@dataclass(frozen=True, slots=True)
class DemoCategory:
    """A category; `parent` is the slug of the one above it."""

    slug: str
    name: str
    name_zh: str
    parent: str | None = None


CATEGORIES = (
    DemoCategory("tea", "Tea", "茶"),
    DemoCategory("loose-tea", "Loose tea", "茶叶", parent="tea"),
    DemoCategory("teaware", "Teaware", "茶具", parent="tea"),
    DemoCategory("kitchen", "Kitchen", "厨房"),
    DemoCategory("cookware", "Pots and steamers", "锅具", parent="kitchen"),
    DemoCategory("knives-and-boards", "Knives and boards", "刀具与砧板", parent="kitchen"),
    DemoCategory("desk", "Desk", "书桌"),
    DemoCategory("keyboards-and-lamps", "Keyboards and lamps", "键盘与台灯", parent="desk"),
    DemoCategory("sound", "Headphones and speakers", "耳机与音箱", parent="desk"),
    DemoCategory("stationery", "Stationery", "文具", parent="desk"),
    DemoCategory("outdoors", "Outdoors", "户外"),
    DemoCategory("bags", "Bags", "包袋", parent="outdoors"),
    DemoCategory("camping", "Camping", "露营", parent="outdoors"),
    DemoCategory("home", "Home", "家居"),
    DemoCategory("textiles", "Throws and cushions", "毯子与靠垫", parent="home"),
    DemoCategory("decoration", "Vases, candles and clocks", "花瓶、香薰与时钟", parent="home"),
    DemoCategory("clothing", "Clothing", "服饰"),
    DemoCategory("tops", "Shirts and sweaters", "衬衫与毛衣", parent="clothing"),
    DemoCategory("accessories", "Scarves, caps and socks", "围巾、帽子与袜子", parent="clothing"),
)


def rows_of(name: str) -> list[dict[str, str]]:
    """The rows of a table beside this file, by the headings of their columns."""
    with (Path(__file__).parent / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


PRODUCTS = rows_of("products.csv")
VARIANTS = rows_of("variants.csv")
