"""The API's only parser: JSON of a bounded size."""

from collections.abc import Mapping
from io import BytesIO
from typing import IO, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework import status
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import JSONParser

# Far more than any request of the API needs, and small enough that many of them do not fill a worker's memory.
BODY_BYTES_MAX = 64 * 1024


class BodyTooLarge(APIException):
    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "body_too_large"
    title = gettext_lazy("The request body is too large")

    def __init__(self) -> None:
        super().__init__(_("The request body may have at most %(max)d bytes.") % {"max": BODY_BYTES_MAX})


class BoundedJSONParser(JSONParser):
    """Accepts only a JSON object of at most BODY_BYTES_MAX bytes, and reads no more than that."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        body = stream.read(BODY_BYTES_MAX + 1)
        if len(body) > BODY_BYTES_MAX:
            raise BodyTooLarge
        try:
            data = super().parse(BytesIO(body), media_type, parser_context)
        except ParseError as error:
            # DRF's own text is in English and says where, as a number of characters.
            raise ParseError(_("The body is not valid JSON.")) from error
        except RecursionError as error:
            raise ParseError(_("The body is nested too deeply.")) from error
        if not isinstance(data, dict):
            raise ParseError(_("The body must be a JSON object."))
        return data
