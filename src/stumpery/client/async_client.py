"""The client of the decision service for coroutines."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from stumpery.client import calls
from stumpery.client.answers import ServedDecision, ServiceUnreachable
from stumpery.client.calls import Answer, Call, DecisionOrId, ServedContext
from stumpery.options import check_number, check_whole
from stumpery.system.extras import need


class AsyncClient:
    """Client of the decision service for coroutines: what `Client` does, awaited; may be shared by tasks.

    Requests are sent again where no answer came or the service is busy; ids make that safe.

    Args:
        address: Address of the service, such as "http://127.0.0.1:8321".
        policy: Name of the policy.
        key: API key, where the site has keys.
        timeout_s: Seconds to wait for one answer, until it is complete.
        retries: How often a request is sent again.
        transport: A transport of httpx; by default the network.

    >>> import asyncio
    >>> client = AsyncClient("http://127.0.0.1:8321", policy="front-page")
    >>> asyncio.run(client.close())
    """

    def __init__(
        self,
        address: str = "http://127.0.0.1:8321",
        *,
        policy: str = "default",
        key: str | None = None,
        timeout_s: float = 2.0,
        retries: int = 3,
        transport: Any = None,
    ) -> None:
        check_number("timeout_s", timeout_s, 0.001, 3600.0)
        check_whole("retries", retries, 0, 100)
        self.policy, self._retries, self._timeout_s = policy, retries, timeout_s
        self._httpx = need("httpx", "client")
        headers = calls.checked_headers(address, policy, key)
        self._http = self._httpx.AsyncClient(base_url=address, headers=headers, timeout=timeout_s, transport=transport)

    async def decide(
        self,
        context: ServedContext | None = None,
        *,
        available: Iterable[str] | None = None,
        k: int = calls.DEFAULT_K,
        event_id: str | None = None,
        deferred: bool = False,
    ) -> ServedDecision:
        """Choose an action, by default among all, else among those `available`, and rank the best `k`.

        `event_id` is an id of your own for the decision, else it gets one. With `deferred` nothing is learned before
        `activate`.
        """
        call = calls.decide(self.policy, context, available, k, event_id)
        return await self._send(calls.deferred(call) if deferred else call)

    async def decide_many(self, contexts: Sequence[ServedContext | None]) -> list[ServedDecision | None]:
        """Choose for many contexts in one request; None where one was refused."""
        return await self._send(calls.decide_many(self.policy, contexts))

    async def reward(self, decision: DecisionOrId, value: float, *, reward_id: str | None = None) -> str:
        """Reward a decision or its id; "learned", "kept", "early", "late" or "duplicate" is what became of it.

        A `reward_id` of your own makes the same reward count once, however often you send it; retries have one anyway.
        """
        return await self._send(calls.reward(self.policy, decision, value, reward_id))

    async def reward_many(self, rewards: Iterable[tuple[DecisionOrId, float]]) -> list[str | None]:
        """Reward many decisions in one request; None where one was refused."""
        return await self._send(calls.reward_many(self.policy, rewards))

    async def activate(self, decision: DecisionOrId, *, shown: bool = True) -> bool:
        """Say that a deferred decision was shown, or that a decision was not and is not to be learned."""
        return await self._send(calls.activate(self.policy, decision, shown=shown))

    async def explain(self, decision: DecisionOrId) -> dict[str, Any]:
        """A decision and its rewards as they were logged, and what the policy says of it now."""
        return await self._send(calls.explain(self.policy, decision))

    async def status(self) -> dict[str, Any]:
        """Settings and counts of the policy."""
        return await self._send(calls.status(self.policy))

    async def create(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Create the policy, by settings such as `{"actions": ["news", "film"], "wait_s": 600}`."""
        return await self._send(calls.create(self.policy, settings))

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _send(self, call: Call[Answer]) -> Answer:
        for attempt in range(self._retries + 1):
            is_last = attempt == self._retries
            try:
                async with asyncio.timeout(self._timeout_s):
                    answer = await self._http.request(call.method, call.path, content=call.content)
            except (self._httpx.TransportError, TimeoutError) as error:
                if is_last:
                    reason = str(error) or f"its answer was not complete after {self._timeout_s:g} s"
                    raise ServiceUnreachable(f"the service at {self._http.base_url} did not answer: {reason}") from None
                await asyncio.sleep(calls.pause_s(attempt, None))
                continue
            if is_last or answer.status_code not in calls.AGAIN:
                break
            await asyncio.sleep(calls.pause_s(attempt, answer.headers.get("retry-after")))
        return calls.result(call, answer.status_code, answer.content)
