"""Pages and figures that buyers only read: live figures, pages, lists."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from django.urls import reverse

from bench.load_sale import retire
from bench.measure.speed import measured_sales
from bench.measure.speed.part import Ask, Part, Sample, Server, measure_ask
from bench.measure.speed.server_groups import SHOP
from bench.measure.speed.wrk import Load


def place(server: Server) -> Sample:
    """Each request is another person's, some thousand in turn."""
    item, tokens = measured_sales.place_tokens_of_crowd()
    file = server.directory / "place-tokens.txt"
    file.write_text("\n".join(tokens))
    path = reverse("api-queue", args=[item.sale_id])
    ask = Ask(path=path, headers={"Authorization": f"Place {tokens[0]}"})
    load = Load(url=server.url(path), script="tokens", arguments=(str(file), "again", "GET", "Place"))
    sample = measure_ask(server, ask, load=load)
    retire(item)
    return sample


def read(ask_of: Callable[[], Ask], server: Server) -> Sample:
    """Pages and figures of a shop that has a sale."""
    measured_sales.shown_sale()
    return measure_ask(server, ask_of())


def product_search(server: Server, *, is_same: bool) -> Sample:
    """Each answer is made anew, or everybody asks the same, so that most answers come from memory."""
    measured_sales.shown_sale()
    ask = Ask(path=f"{reverse('search')}?q=measured")
    return measure_ask(server, ask, load=None if is_same else Load(url=server.url(ask.path), script="numbered"))


def reading_part(name: str, title: str, ask_of: Callable[[], Ask]) -> Part:
    return Part(name, title, SHOP, partial(read, ask_of))


def page(address: str, *arguments: object) -> Ask:
    return Ask(path=reverse(address, args=arguments))


def sale_page() -> Ask:
    return page("sale", measured_sales.shown_sale().pk)


def sale_page_signed_in() -> Ask:
    return replace(sale_page(), headers={"Cookie": f"sessionid={measured_sales.session_key()}"})


PARTS = (
    reading_part("live", "live figures of an item", lambda: page("api-live", measured_sales.shown_item().pk)),
    reading_part("sale-live", "live figures of a sale", lambda: page("api-sale-live", measured_sales.shown_sale().pk)),
    Part("place", "place in a waiting room", SHOP, place),
    reading_part("home", "home page", lambda: page("home")),
    reading_part("sale-page", "sale page", sale_page),
    reading_part("sale-page-signed-in", "sale page, signed in", sale_page_signed_in),
    reading_part("products-page", "list of products", lambda: page("products")),
    reading_part("product-page", "product page", lambda: page("product", measured_sales.shown_item().product.slug)),
    *(
        Part(name, title, SHOP, partial(product_search, is_same=is_same))
        for name, title, is_same in (
            ("search-page", "search among a few products", False),
            ("same-search", "search that everybody makes", True),
        )
    ),
    reading_part("sign-in", "sign-in page", lambda: page("account_login")),
    reading_part("sales", "GET /api/v1/sales/", lambda: page("api-sales")),
)
