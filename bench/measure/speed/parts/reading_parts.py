"""Pages and figures that buyers only read: live figures, pages, lists."""

from functools import partial

from django.urls import NoReverseMatch, reverse

from bench.load_sale import retire
from bench.measure.speed import measured_sales
from bench.measure.speed.part import Ask, NotHere, Part, Sample, Server, measure_ask
from bench.measure.speed.server_groups import SHOP
from bench.measure.speed.wrk import Load


def live(server: Server) -> Sample:
    return measure_ask(server, Ask(path=reverse("api-live", args=[measured_sales.shown_item().pk])))


def sale_live(server: Server) -> Sample:
    """Raises NotHere before the shop has the address."""
    try:
        path = reverse("api-sale-live", args=[measured_sales.shown_sale().pk])
    except NoReverseMatch as error:
        raise NotHere("this shop has no GET /api/v1/sales/{id}/live/") from error
    return measure_ask(server, Ask(path=path))


def place(server: Server) -> Sample:
    """Each request is another person's, some thousand in turn."""
    item, tokens = measured_sales.place_tokens_of_crowd()
    file = server.directory / "place-tokens.txt"
    file.write_text("\n".join(tokens))
    path = reverse("api-queue", args=[item.sale_id])
    ask = Ask(path=path, headers={"Authorization": f"Place {tokens[0]}"})
    sample = measure_ask(server, ask, load=Load(url=server.url(path), script="places", arguments=(str(file),)))
    retire(item)
    return sample


def page(address: str, server: Server) -> Sample:
    """A page of a shop that has a sale."""
    measured_sales.shown_sale()
    return measure_ask(server, Ask(path=reverse(address)))


def sale_page(server: Server) -> Sample:
    return measure_ask(server, Ask(path=reverse("sale", args=[measured_sales.shown_sale().pk])))


def sale_page_signed_in(server: Server) -> Sample:
    cookie = {"Cookie": f"sessionid={measured_sales.session_key()}"}
    return measure_ask(server, Ask(path=reverse("sale", args=[measured_sales.shown_sale().pk]), headers=cookie))


def product_page(server: Server) -> Sample:
    product = measured_sales.shown_item().product
    return measure_ask(server, Ask(path=reverse("product", args=[product.slug])))


def product_search(server: Server, *, is_same: bool) -> Sample:
    """Each answer is made anew, or everybody asks the same, so that most answers come from memory."""
    measured_sales.shown_sale()
    ask = Ask(path=f"{reverse('search')}?q=measured")
    return measure_ask(server, ask, load=None if is_same else Load(url=server.url(ask.path), script="numbered"))


PARTS = (
    Part(name="live", title="live figures of an item", server=SHOP, measure=live),
    Part(name="sale-live", title="live figures of a sale", server=SHOP, measure=sale_live),
    Part(name="place", title="place in a waiting room", server=SHOP, measure=place),
    Part(name="home", title="home page", server=SHOP, measure=partial(page, "home")),
    Part(name="sale-page", title="sale page", server=SHOP, measure=sale_page),
    Part(name="sale-page-signed-in", title="sale page, signed in", server=SHOP, measure=sale_page_signed_in),
    Part(name="products-page", title="list of products", server=SHOP, measure=partial(page, "products")),
    Part(name="product-page", title="product page", server=SHOP, measure=product_page),
    *(
        Part(name=name, title=title, server=SHOP, measure=partial(product_search, is_same=is_same))
        for name, title, is_same in (
            ("search-page", "search among a few products", False),
            ("same-search", "search that everybody makes", True),
        )
    ),
    Part(name="sign-in", title="sign-in page", server=SHOP, measure=partial(page, "account_login")),
    Part(name="sales", title="GET /api/v1/sales/", server=SHOP, measure=partial(page, "api-sales")),
)
