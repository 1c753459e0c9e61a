from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib import admin
from django.contrib.auth.models import Group, User

from shop.accounts.staff_account_admin import GroupAdmin
from shop.staff.address_admin import AddressAdmin
from shop.staff.category_admin import CategoryAdmin, TaxRateAdmin
from shop.staff.journal_admin import StockChangeAdmin
from shop.staff.product_admin import ProductAdmin
from shop.staff.stock_admin import VariantAdmin

__all__ = ["AddressAdmin", "CategoryAdmin", "ProductAdmin", "StockChangeAdmin", "TaxRateAdmin", "VariantAdmin"]

# Registered again with the look of the other pages: groups below, people in orders/staff/buyer_admin.py.
admin.site.unregister([User, Group])
# Not for staff: confirmed addresses, second factors and sessions belong to their user alone.
admin.site.unregister([EmailAddress, Authenticator, UserSession])

admin.site.register(Group, GroupAdmin)
