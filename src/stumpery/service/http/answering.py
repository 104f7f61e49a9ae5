"""Answers in time: the fallback action where a decision takes too long, and its decision taken back."""

import asyncio
import logging
from typing import Any

from stumpery.errors import StumperyError
from stumpery.service.engine import rewarding
from stumpery.service.engine.engine import Engine
from stumpery.service.engine.requests import Fallback
from stumpery.service.engine.rewarding import ActivateRequest

logger = logging.getLogger(__name__)


async def in_time(engine: Engine, name: str, reply: "asyncio.Future[Any]", fallback: Fallback) -> Any:
    """The answer to a decision within the limit of the site, or the fallback.

    A decision that is made too late was not shown: it is taken back, so that it takes no reward and none is learned.
    """
    assert engine.settings.answer_within_ms is not None  # noqa: S101
    assert fallback is not None  # noqa: S101
    done, _ = await asyncio.wait([reply], timeout=engine.settings.answer_within_ms / 1000)
    if done:
        return reply.result()
    engine.n_late += 1
    reply.add_done_callback(lambda late: _take_back(engine, name, late))
    return fallback(engine.journal.replica)


def _take_back(engine: Engine, name: str, late: "asyncio.Future[Any]") -> None:
    if late.cancelled() or late.exception() is not None or late.result().event_id is None:
        return
    request = ActivateRequest(event_id=late.result().event_id, shown=False)
    try:
        taken = engine.submit(lambda journal: rewarding.activate(journal, name, request))
        taken.add_done_callback(lambda each: each.cancelled() or each.exception())
    except StumperyError as error:
        logger.warning("a late decision was not taken back: %s", error)
