"""`/api/schema/`: the OpenAPI file. Making it takes a core for a tenth of a second, so each process makes it once."""

from functools import cache
from threading import Lock

from django.http import HttpResponse
from django.utils import translation
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request

from web.api_docs.openapi import EXAMPLE_ADDRESS

# drf-spectacular loads its parts at the first file, and not for several threads at once.
making = Lock()


class SchemaFile(SpectacularAPIView):
    authentication_classes = ()
    permission_classes = ()
    schema = None

    def get(self, request: Request) -> HttpResponse:
        """The file as YAML or JSON, the same for everybody but for the address of the shop."""
        renderer = request.accepted_renderer
        with making:
            body = file_in(renderer.format)
        charset = f"; charset={renderer.charset}" if renderer.charset else ""
        return HttpResponse(
            body.replace(EXAMPLE_ADDRESS.encode(), request.build_absolute_uri("/")[:-1].encode()),
            content_type=f"{renderer.media_type}{charset}",
            headers={
                "Content-Disposition": f'inline; filename="Stampede.{renderer.format}"',
                "Content-Language": "en",
            },
        )


@cache
def file_in(form: str) -> bytes:
    renderer = OpenApiJsonRenderer() if form == "json" else OpenApiYamlRenderer()
    with translation.override("en"):
        content: bytes = renderer.render(SchemaGenerator().get_schema(public=True))  # type: ignore[no-untyped-call]
    return content
