"""The API's only parser: JSON of a bounded size."""

from collections.abc import Mapping
from io import BytesIO
from typing import IO, Any

from django.utils.translation import gettext as _
from rest_framework import status
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import JSONParser

# The largest request of the API is a cart; a thousand times smaller than what would hurt a worker.
BODY_BYTES_MAX = 64 * 1024


class BodyTooLarge(APIException):
    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "body_too_large"

    def __init__(self) -> None:
        super().__init__(_("The request body may have at most %(max)d bytes.") % {"max": BODY_BYTES_MAX})


class BoundedJSONParser(JSONParser):
    """Reads at most BODY_BYTES_MAX bytes, then refuses; takes a JSON object and nothing else."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        body = stream.read(BODY_BYTES_MAX + 1)
        if len(body) > BODY_BYTES_MAX:
            raise BodyTooLarge
        try:
            data = super().parse(BytesIO(body), media_type, parser_context)
        except RecursionError as error:
            raise ParseError(_("The body is nested too deeply.")) from error
        if not isinstance(data, dict):
            raise ParseError(_("The body must be a JSON object."))
        return data
