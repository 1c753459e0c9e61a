from shop.models.catalogue import Category, Picture, Product, TaxRate, Variant
from shop.models.people import ApiToken, BuyerLanguage
from shop.models.stock_journal import StockChange

__all__ = [
    "ApiToken",
    "BuyerLanguage",
    "Category",
    "Picture",
    "Product",
    "StockChange",
    "TaxRate",
    "Variant",
]
