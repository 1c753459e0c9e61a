"""Adds to the OpenAPI file chapters, examples, and refusals with their meaning; the views' decorators give the rest."""

from typing import Any

from django.utils import translation
from drf_spectacular.openapi import AutoSchema

from web.api_docs.examples import BY_OPERATION, CHAPTERS, PREPARATION
from web.api_docs.problem_pages import BY_CODE, PROBLEMS
from web.api_docs.response_headers import describe_headers

PROBLEM_CONTENT = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
# In the file; where the shop serves it, its own address stands in its place (schema_file.py).
EXAMPLE_ADDRESS = "http://127.0.0.1:8000"
DEFAULT_DESCRIPTION = "Another problem: `code` says which."

INTRODUCTION = """\
Flash sales that never oversell and never lose a confirmed reservation.

**To buy**, make the calls of this page from top to bottom: sign in, choose an item, get a pass, reserve with it, wait
for the order, pay. Each call has an example for a shell with curl. Set `BUYER` and `PASSWORD` to those of an account
and `SKU` to the number of a variant, then:

```
{preparation}
```

To try calls on this page, paste a token under *Authorize*; a reservation takes a pass there, as `Pass …`.

Times are RFC 3339 in UTC, to the millisecond. Amounts are decimal strings. Lists have numbered pages, orders a cursor;
both take `page_size`. A call to an address without its last slash is answered with 308.

**A refusal** is `application/problem+json` (RFC 9457). Programs act on `code`; `detail` is for people, in the language
of the header Accept-Language. `type` is the address of a page about the code, in English and Chinese. It is relative to
the address of the shop, so with the setting SHOP_URL the page is at SHOP_URL followed by `type`.
[All codes on one page](/api/docs/problems/).

| code | HTTP | meaning | what to do |
|---|---|---|---|
{rows}
"""


class NamedCalls(AutoSchema):
    """Names the calls by the list of examples."""

    def get_operation_id(self) -> str:
        call = BY_OPERATION.get((self.method, self.path))
        return call.operation_id if call else super().get_operation_id()


def document_calls(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """A drf-spectacular hook. The file is always in English."""
    with translation.override("en"):
        rows = [f"| [`{it.code}`]({it.address}) | {it.status} | {it.meaning} | {it.to_do} |" for it in PROBLEMS]
        result["servers"] = [{"url": EXAMPLE_ADDRESS}]
        # Members of problems whose form belongs to an app.
        members = result["components"]["schemas"]["Problem"]["properties"]
        members["order_status"] = {"$ref": "#/components/schemas/OrderStatusEnum"}
        members["lines"] = {"type": "array", "items": {"$ref": "#/components/schemas/CartLine"}}
        result["info"]["description"] = INTRODUCTION.format(preparation=PREPARATION, rows="\n".join(rows))
        result["tags"] = [{"name": chapter} for chapter in CHAPTERS]
        for path, operations in result["paths"].items():
            for method, operation in operations.items():
                describe_call(method.upper(), path, operation)
                explain_refusals(operation["responses"])
                describe_headers(operation)
    return result


def describe_call(method: str, path: str, operation: dict[str, Any]) -> None:
    """Chapter and short name. The example follows the description, which comes from the view."""
    if (call := BY_OPERATION.get((method, path))) is not None:
        operation["tags"], operation["summary"] = [call.chapter], call.summary
        operation["description"] = f"{operation.get('description', '')}\n\n```\n{call.example}\n```"


def explain_refusals(responses: dict[str, Any]) -> None:
    """Each code with its meaning. Every error is `application/problem+json`, also the errors without a named code."""
    for status, response in responses.items():
        if int(status) >= 400:
            response["content"] = PROBLEM_CONTENT
            known = [BY_CODE[code] for code in response["description"].split() if code in BY_CODE]
            response["description"] = "\n".join(f"- [`{it.code}`]({it.address}): {it.meaning}" for it in known)
    responses["default"] = {"content": PROBLEM_CONTENT, "description": DEFAULT_DESCRIPTION}
