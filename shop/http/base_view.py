"""The base class of views that accept JSON."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.views import APIView


class LengthRequired(APIException):
    status_code = 411
    default_code = "length_required"
    title = _("The length is missing")
    default_detail = _("Send a Content-Length header with the request body.")


class JsonAPIView(APIView):
    """Refuses a body of unknown length: DRF would ignore it and answer as if the body were empty."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if "HTTP_TRANSFER_ENCODING" in request.META and "CONTENT_LENGTH" not in request.META:
            raise LengthRequired
