"""Django's requests, in which addresses and bodies are UTF-8, whatever charset their Content-Type names.

Django reads the query too in that charset. So an answer that memory gives to everybody could be that to another query,
and a codec that is none of texts, such as zlib, was a fault before any middleware.
"""

from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.utils.http import parse_header_parameters


class Utf8Request(WSGIRequest):
    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        try:
            self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        except ValueError:
            # Too long, or unreadable: DRF reads it again, and refuses a body of no type.
            meta["CONTENT_TYPE"] = self.content_type = ""
            self.content_params = {}


class Utf8Application(WSGIHandler):
    request_class = Utf8Request
