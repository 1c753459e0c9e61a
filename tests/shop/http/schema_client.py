"""A client of the API that knows docs/openapi.yaml and nothing else, as a generated one does.

A call goes by its `operationId`. The file says the address, where each argument goes, how to sign in, what the body
must have, and what may come back: a status that the file does not name, or a header or a member that is missing, is an
error.
"""

import http.client
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import yaml

ROOT = Path(__file__).resolve().parents[3]


def referred(part: dict[str, Any]) -> dict[str, Any]:
    """The part of the file to which a reference leads; any other part itself."""
    _hash, *names = part.get("$ref", "#").split("/")
    found = DOCUMENT if names else part
    for name in names:
        found = found[name]
    return found


# Read by several files of tests, once for each process. In C, since the parser in Python takes seconds of a processor.
DOCUMENT = yaml.load((ROOT / "docs" / "openapi.yaml").read_text(), Loader=yaml.CSafeLoader)
for _operations in DOCUMENT["paths"].values():
    for _operation in _operations.values():
        for _status, _answer in _operation["responses"].items():
            _answer = _operation["responses"][_status] = referred(_answer)
            _answer["headers"] = {_name: referred(_header) for _name, _header in _answer.get("headers", {}).items()}
PATHS_AND_METHODS = [(path, method) for path, operations in DOCUMENT["paths"].items() for method in operations]
OPERATIONS: dict[str, tuple[str, str, dict[str, Any]]] = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
}
SCHEMES = DOCUMENT["components"]["securitySchemes"]
PYTHON_TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


def promised_headers(name: str, status: int) -> dict[str, Any]:
    """The headers that the file knows of the answers to this call with this status."""
    _method, _path, operation = OPERATIONS[name]
    headers: dict[str, Any] = operation["responses"][str(status)].get("headers", {})
    return headers


class SchemaClient:
    """`signed_in` has what the client signs in with, by the name of the security scheme."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.signed_in: dict[str, str] = {}

    def call(self, name: str, body: dict[str, Any] | None = None, **arguments: Any) -> Any:
        """The answer's content. Raises AssertionError where call or answer are not as the file says."""
        method, path, operation = OPERATIONS[name]
        query: dict[str, str] = {}
        headers = self.headers_of_sign_in(operation)
        for parameter in operation.get("parameters", ()):
            argument = arguments.pop(parameter["name"].lower().replace("-", "_"), None)
            assert argument is not None or not parameter.get("required"), parameter["name"]
            if argument is None:
                continue
            if parameter["in"] == "path":
                path = path.replace(f"{{{parameter['name']}}}", quote(str(argument), safe=""))
            else:
                (query if parameter["in"] == "query" else headers)[parameter["name"]] = str(argument)
        assert not arguments, f"{name} does not take {sorted(arguments)}"
        data = None
        if "requestBody" in operation:
            [(headers["Content-Type"], content)] = operation["requestBody"]["content"].items()
            require(content["schema"], body or {})
            data = json.dumps(body or {}).encode()
        return self.send(operation, method, f"{path}?{urlencode(query)}" if query else path, data, headers)

    def headers_of_sign_in(self, operation: dict[str, Any]) -> dict[str, str]:
        """The first of the operation's ways to sign in that the client can go. `{}` is the way without any."""
        ways = [way for way in operation.get("security", [{}]) if set(way) <= set(self.signed_in)]
        assert ways, f"{operation['operationId']} needs one of {operation['security']}"
        headers = {}
        for name in ways[0]:
            scheme = SCHEMES[name]
            if scheme["type"] == "http":
                headers["Authorization"] = f"{scheme['scheme'].title()} {self.signed_in[name]}"
            else:
                assert scheme["in"] == "header", scheme
                headers[scheme["name"]] = self.signed_in[name]
        return headers

    def send(
        self, operation: dict[str, Any], method: str, path: str, data: bytes | None, headers: dict[str, str]
    ) -> Any:
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=20)
        try:
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        promised = operation["responses"].get(str(answer.status))
        assert promised, f"{operation['operationId']}: {answer.status} {content!r}"
        for name, header in promised.get("headers", {}).items():
            assert not header["required"] or answer.headers[name], f"{operation['operationId']} lacks {name}"
        assert answer.status < 400, content
        if not content:
            return None
        found = json.loads(content)
        require(promised["content"][answer.headers["Content-Type"]]["schema"], found)
        return found


def require(schema: dict[str, Any], value: Any, where: str = "") -> None:
    """The value has the members and the types that the schema promises."""
    if "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if value is None and schema.get("nullable"):
        return
    for inner in schema.get("allOf", ()):
        require(inner, value, where)
    if "type" in schema:
        assert isinstance(value, PYTHON_TYPES[schema["type"]]), f"{where} is {value!r}"
    for name in schema.get("required", ()):
        assert name in value, f"{where} lacks {name}"
    for name, inner in schema.get("properties", {}).items():
        if name in value:
            require(inner, value[name], f"{where}.{name}")
    for number, inner in enumerate(value if schema.get("type") == "array" else ()):
        require(schema["items"], inner, f"{where}[{number}]")
