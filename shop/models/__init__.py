from shop.models.catalogue import Category, Picture, Product, TaxRate, Variant
from shop.models.people import AccountMail, Address, ApiToken, BuyerLanguage, Customer
from shop.models.search_entry import SearchEntry, SearchWord, write_entries
from shop.models.stock_journal import StockChange, TakenStep

__all__ = [
    "AccountMail",
    "Address",
    "ApiToken",
    "BuyerLanguage",
    "Category",
    "Customer",
    "Picture",
    "Product",
    "SearchEntry",
    "SearchWord",
    "StockChange",
    "TakenStep",
    "TaxRate",
    "Variant",
    "write_entries",
]
