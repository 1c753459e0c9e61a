"""The same page in other languages, for search engines (hreflang)."""

from django import template
from django.conf import settings
from django.http import HttpRequest
from django.template.context import RequestContext
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from shop.languages.page_language import path_in

register = template.Library()


@register.simple_tag(takes_context=True)
def language_links(context: RequestContext) -> SafeString:
    """`canonical` and `alternate` links with whole addresses. The page without a prefix is for all other languages."""
    request: HttpRequest = context["request"]
    alternates = [(code, path_in(code, request.path)) for code, _name in settings.LANGUAGES]
    alternates.append(("x-default", path_in(settings.LANGUAGE_CODE, request.path)))
    return format_html('<link rel="canonical" href="{}{}">', settings.SHOP_URL, request.path) + format_html_join(
        "",
        '\n  <link rel="alternate" hreflang="{}" href="{}{}">',
        ((html_code(code), settings.SHOP_URL, path) for code, path in alternates),
    )


def html_code(code: str) -> str:
    """The language in the form of BCP 47: zh-hans is zh-Hans."""
    language, *script = code.split("-")
    return "-".join([language, *(part.title() if len(part) == 4 else part for part in script)]) if script else code
