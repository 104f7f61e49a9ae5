"""Answers to requests: futures of the event loop or of threads, resolved in one call for each loop."""

import asyncio
import logging
from concurrent.futures import Future
from typing import Any

logger = logging.getLogger(__name__)
Reply = Any  # an asyncio or a concurrent future
Answer = tuple[Reply, Any, Exception | None]


def send(answers: list[Answer]) -> None:
    """Resolve futures, those of an event loop in one call."""
    loops: dict[asyncio.AbstractEventLoop, list[Answer]] = {}
    for answer in answers:
        if isinstance(answer[0], Future):
            _resolve(*answer)
        else:
            loops.setdefault(answer[0].get_loop(), []).append(answer)
    for loop, own in loops.items():
        try:
            loop.call_soon_threadsafe(_resolve_all, own)
        except RuntimeError:  # the loop is closed: nobody waits
            logger.debug("answers came after the event loop was closed")


def _resolve(reply: Reply, result: Any, error: Exception | None) -> None:
    if reply.cancelled() or reply.done():
        return
    if error is None:
        reply.set_result(result)
    else:
        reply.set_exception(error)


def _resolve_all(answers: list[Answer]) -> None:
    for answer in answers:
        _resolve(*answer)
