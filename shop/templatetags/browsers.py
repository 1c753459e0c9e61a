"""Names of browsers on pages."""

from django import template

from shop.accounts.browser_names import browser_name

register = template.Library()
register.filter(browser_name)
