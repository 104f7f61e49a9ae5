"""The OpenAPI description of the HTTP interface, from the types of its bodies and answers."""

import re
from importlib.metadata import version
from typing import Any

import msgspec

from stumpery.service.http.operation import ErrorAnswer, Operation
from stumpery.service.http.operations import OPERATIONS

REFERENCE = "#/components/schemas/{name}"
ERRORS = {
    "400": "The request is not valid; nothing changed.",
    "401": "A key is needed.",
    "403": "The key has not the right.",
    "404": "There is no such policy, decision or action.",
    "409": "The id was used with another content, or a reward contradicts an earlier one.",
    "413": "The body is too large.",
    "429": "A limit is reached; try again later.",
    "503": "Nothing can be recorded now; try again later.",
}


def description(needs_key: bool) -> dict[str, Any]:
    """The whole description as plain values.

    >>> sorted(description(needs_key=False)["paths"]["/v1/policies/{name}/decide"])
    ['post']
    """
    kinds = [kind for each in OPERATIONS for kind in (each.body, each.answer) if kind is not None] + [ErrorAnswer]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=REFERENCE)
    schema_of = {id(kind): schema for kind, schema in zip(kinds, schemas, strict=True)}
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        described = _described(operation, schema_of)
        paths.setdefault(operation.path.replace(":path", ""), {})[operation.method.lower()] = described
    whole: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "Stumpery decision service", "version": version("stumpery")},
        "paths": paths,
        "components": {"schemas": components},
    }
    if needs_key:
        whole["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        whole["security"] = [{"key": []}]
    return whole


def _described(operation: Operation, schema_of: dict[int, Any]) -> dict[str, Any]:
    answer = {} if operation.answer is None else schema_of[id(operation.answer)]
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)", operation.path)
    ]
    found: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": re.sub(r"\W+", "_", f"{operation.method.lower()} {operation.path}").strip("_"),
        "description": f"Needs the right {operation.right!r}.",
        "parameters": parameters,
        "responses": {
            "200": {"description": "The answer.", "content": _json(answer)},
            **{
                status: {"description": text, "content": _json(schema_of[id(ErrorAnswer)])}
                for status, text in ERRORS.items()
            },
        },
    }
    if operation.body is not None:
        found["requestBody"] = {"required": True, "content": _json(schema_of[id(operation.body)])}
    return found


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
