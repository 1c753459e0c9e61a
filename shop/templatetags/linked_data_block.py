"""Data for search engines in a page. The content policy forbids scripts in pages; a block of data is none."""

import json
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

# As in Django's json_script: no text can end the block.
ESCAPES = {ord(">"): "\\u003E", ord("<"): "\\u003C", ord("&"): "\\u0026"}


@register.filter
def linked_data(data: Any) -> SafeString:
    text = mark_safe(json.dumps(data, ensure_ascii=False).translate(ESCAPES))
    return format_html('<script type="application/ld+json">{}</script>', text)
