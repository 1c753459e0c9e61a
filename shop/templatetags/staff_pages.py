"""Names of the admin's pages."""

from django import template
from django.http import HttpRequest

register = template.Library()


@register.simple_tag
def list_title(request: HttpRequest) -> str:
    """How the sidebar calls the list to which this page belongs; empty where that is the plural of the rows."""
    match = request.resolver_match
    model_admin = getattr(match.func, "model_admin", None) if match else None
    return str(getattr(model_admin, "list_title", ""))
