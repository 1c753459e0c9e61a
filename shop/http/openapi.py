"""What the OpenAPI file says of every operation: errors are problem documents."""

from typing import Any

PROBLEM_CONTENT = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}


def document_problems(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """A drf-spectacular hook: each error is `application/problem+json`, those that an operation does not name too."""
    for path in result["paths"].values():
        for operation in path.values():
            responses = operation["responses"]
            for status, response in responses.items():
                if int(status) >= 400:
                    response["content"] = PROBLEM_CONTENT
            responses["default"] = {
                "content": PROBLEM_CONTENT,
                "description": "A problem document; `code` says which problem.",
            }
    return result
