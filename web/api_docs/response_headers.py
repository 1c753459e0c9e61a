"""The headers of answers, for the OpenAPI file. They follow from what a call takes: a key, a page, an ETag."""

from typing import Any

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


def describe_headers(operation: dict[str, Any]) -> None:
    taken = {(parameter["in"], parameter["name"]) for parameter in operation.get("parameters", ())}
    called = operation["operationId"]
    for status, response in operation["responses"].items():
        headers: dict[str, Any] = {}
        if status == "401":
            headers["WWW-Authenticate"] = header("How to sign in.")
        if status in ("409", "429", "503", "default") or "`account_too_new`" in response.get("description", ""):
            headers["Retry-After"] = header("Seconds to wait, where waiting helps.", SECONDS, always=False)
        if status.startswith("2"):
            headers |= headers_of_success(called, taken, is_made=status == "201")
        if status == "304":
            headers["ETag"] = header("That of the known answer.")
        if headers:
            response["headers"] = headers


def headers_of_success(called: str, taken: set[tuple[str, str]], *, is_made: bool) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if ("header", "If-None-Match") in taken:
        headers["ETag"] = header("For the header If-None-Match of the next call.")
    if ("query", "page") in taken:
        headers["Total-Count"] = header("How many there are on all pages.", SECONDS)
        headers["Link"] = header("The previous and the next page (RFC 8288).", always=False)
    if ("header", "Idempotency-Key") in taken or called in KNOW_A_REPEATED_CALL:
        headers["Idempotent-Replayed"] = header(
            "This call was made before, and this is what came of it.",
            {"type": "string", "enum": ["true"]},
            always=False,
        )
    if called in ("get_cart", "change_cart"):
        headers["Cart-Token"] = header("Of a guest's cart.", always=False)
    if called in LOCATION and is_made:
        text, always = LOCATION[called]
        headers["Location"] = header(text, always=always)
    return headers


def header(description: str, schema: dict[str, Any] = TEXT, *, always: bool = True) -> dict[str, Any]:
    return {"description": description, "required": always, "schema": schema}
