"""Adds to each operation of the OpenAPI file that its errors are problem documents."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse

from shop.http.serializers import ProblemSerializer

# For `@extend_schema`, under each error status that an operation documents.
PROBLEM = OpenApiResponse(ProblemSerializer, "A problem document; `code` says which problem.")

PROBLEM_CONTENT = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}


def document_problems(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """A drf-spectacular hook: each error is `application/problem+json`, named or not."""
    for path in result["paths"].values():
        for operation in path.values():
            responses = operation["responses"]
            for status, response in responses.items():
                if int(status) >= 400:
                    response["content"] = PROBLEM_CONTENT
            responses["default"] = {
                "content": PROBLEM_CONTENT,
                "description": PROBLEM.description,
            }
    return result
