"""Adds to the OpenAPI file chapters, examples, and refusals with their meaning; the views' decorators give the rest."""

import re
from collections import Counter
from typing import Any

from django.utils import translation
from drf_spectacular.openapi import AutoSchema

from web.api_docs.examples import BY_OPERATION, CHAPTERS, PREPARATION
from web.api_docs.problem_pages import BY_CODE, PROBLEMS

PROBLEM_CONTENT = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
# In the file; where the shop serves it, its own address stands in its place (schema_file.py).
EXAMPLE_ADDRESS = "http://127.0.0.1:8000"
CODES = re.compile(r"\[`(\w+)`\]")

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
                operation["responses"]["default"] = reference("responses", "default")
        result["components"]["responses"] = {"default": ANOTHER_PROBLEM, **shared_refusals(result["paths"])}
        result["components"]["headers"] = HEADERS
    return result


def reference(kind: str, name: str) -> dict[str, str]:
    return {"$ref": f"#/components/{kind}/{name}"}


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


def shared_refusals(paths: dict[str, Any]) -> dict[str, Any]:
    """The refusals of several calls stand once, named by their codes."""
    found = [
        (answers := operation["responses"], status, ".".join(CODES.findall(answers[status]["description"])))
        for operations in paths.values()
        for operation in operations.values()
        for status in operation["responses"]
        if status.startswith(("4", "5"))
    ]
    count = Counter(name for _answers, _status, name in found)
    shared = {}
    for answers, status, name in found:
        if name and count[name] > 1:
            shared[name] = answers[status]
            answers[status] = reference("responses", name)
    return shared


TEXT = {"type": "string"}
SECONDS = {"type": "integer", "minimum": 0}
# They know a repeated call without an Idempotency-Key.
KNOW_A_REPEATED_CALL = ("reserve", "join_line", "enter_draw")
# Of calls that make something, answered with 201.
LOCATION = {
    "reserve": ("The status of the reservation.", True),
    "join_line": ("The status of the place, and of the reservation that may come of it.", True),
    "bring_receipt": ("The status of the reservation.", True),
    "check_out": ("The order, of a buyer who is signed in.", False),
}


def header(description: str, schema: dict[str, Any] = TEXT, *, always: bool = True) -> dict[str, Any]:
    return {"description": description, "required": always, "schema": schema}


HEADERS = {
    "WWW-Authenticate": header("How to sign in."),
    "Retry-After": header("Seconds to wait, where waiting helps.", SECONDS, always=False),
    "ETag": header("For the header If-None-Match of the next call."),
    "Total-Count": header("How many there are on all pages.", SECONDS),
    "Link": header("The previous and the next page (RFC 8288).", always=False),
    "Idempotent-Replayed": header(
        "This call was made before, and this is what came of it.", {"type": "string", "enum": ["true"]}, always=False
    ),
    "Cart-Token": header("Of a guest's cart.", always=False),
}
ANOTHER_PROBLEM = {
    "content": PROBLEM_CONTENT,
    "description": "Another problem: `code` says which.",
    "headers": {"Retry-After": reference("headers", "Retry-After")},
}


def describe_headers(operation: dict[str, Any]) -> None:
    taken = {(parameter["in"], parameter["name"]) for parameter in operation.get("parameters", ())}
    called = operation["operationId"]
    for status, response in operation["responses"].items():
        names: list[str] = []
        if status == "401":
            names.append("WWW-Authenticate")
        if status in ("409", "429", "503") or "`account_too_new`" in response.get("description", ""):
            names.append("Retry-After")
        if status.startswith("2"):
            names += headers_of_success(called, taken)
        headers: dict[str, Any] = {name: reference("headers", name) for name in names}
        if status == "201" and called in LOCATION:
            text, always = LOCATION[called]
            headers["Location"] = header(text, always=always)
        if status == "304":
            headers["ETag"] = header("That of the known answer.")
        if headers:
            response["headers"] = headers


def headers_of_success(called: str, taken: set[tuple[str, str]]) -> list[str]:
    has_key = ("header", "Idempotency-Key") in taken or called in KNOW_A_REPEATED_CALL
    return [
        *(["ETag"] if ("header", "If-None-Match") in taken else []),
        *(["Total-Count", "Link"] if ("query", "page") in taken else []),
        *(["Idempotent-Replayed"] if has_key else []),
        *(["Cart-Token"] if called in ("get_cart", "change_cart") else []),
    ]
