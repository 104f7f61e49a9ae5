"""What an operation of the HTTP interface is: path, right, body, answer, and the task that answers it."""

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import Struct

from stumpery.service.engine.journal import Journal
from stumpery.service.settings import LimitSettings, Right

Task = Callable[[Journal], Any]
Path = dict[str, str]
POLICY = "/v1/policies/{name}"


class ErrorAnswer(Struct):
    """What is wrong, in one sentence, and its HTTP status."""

    error: str
    status: int


class Operation(NamedTuple):
    """One operation: how it is called, who may, what it takes, and the task for the engine."""

    method: str
    path: str
    right: Right
    summary: str
    task: Callable[[LimitSettings, Path, Any], Task]
    body: Any = None
    answer: Any = None
