from shop.models.catalogue import Category, Product, in_current_language
from shop.models.people import ApiToken, BuyerLanguage

__all__ = ["ApiToken", "BuyerLanguage", "Category", "Product", "in_current_language"]
