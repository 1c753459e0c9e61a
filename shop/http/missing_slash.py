"""Redirects an address without its last slash to the one that has it."""

from django.http import HttpRequest, HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.middleware.common import CommonMiddleware

from shop.http.problems import is_api


class MissingSlash(CommonMiddleware):
    """Pages get Django's 301. Calls of the API get 308: after a 301, programs repeat a POST as a GET without a body."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if is_api(request) and response.status_code == 404 and self.should_redirect_with_slash(request):
            address = request.get_full_path(force_append_slash=True)
            return HttpResponsePermanentRedirect(address, preserve_request=True)
        return super().process_response(request, response)
