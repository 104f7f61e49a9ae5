"""The client of the decision service."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from stumpery.client import calls
from stumpery.client.answers import ServedDecision, ServiceUnreachable
from stumpery.client.calls import Answer, Call, DecisionOrId, ServedContext
from stumpery.options import check_number, check_whole
from stumpery.system.extras import need


class Client:
    """Client of the decision service: decide over HTTP, reward later; may be shared by threads.

    Requests are sent again where no answer came or the service is busy; ids make that safe.

    Args:
        address: Address of the service, such as "http://127.0.0.1:8321".
        policy: Name of the policy.
        key: API key, where the site has keys.
        timeout_s: Seconds to wait for one answer, until it is complete.
        retries: How often a request is sent again.
        transport: A transport of httpx; by default the network.

    >>> client = Client("http://127.0.0.1:8321", policy="front-page")
    >>> client.close()
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
        self._http = self._httpx.Client(base_url=address, headers=headers, timeout=timeout_s, transport=transport)

    def decide(
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
        return self._send(calls.deferred(call) if deferred else call)

    def decide_many(self, contexts: Sequence[ServedContext | None]) -> list[ServedDecision | None]:
        """Choose for many contexts in one request; None where one was refused."""
        return self._send(calls.decide_many(self.policy, contexts))

    def reward(self, decision: DecisionOrId, value: float, *, reward_id: str | None = None) -> str:
        """Reward a decision or its id; "learned", "kept", "early", "late" or "duplicate" is what became of it.

        A `reward_id` of your own makes the same reward count once, however often you send it; retries have one anyway.
        """
        return self._send(calls.reward(self.policy, decision, value, reward_id))

    def reward_many(self, rewards: Iterable[tuple[DecisionOrId, float]]) -> list[str | None]:
        """Reward many decisions in one request; None where one was refused."""
        return self._send(calls.reward_many(self.policy, rewards))

    def activate(self, decision: DecisionOrId, *, shown: bool = True) -> bool:
        """Say that a deferred decision was shown, or that a decision was not and is not to be learned."""
        return self._send(calls.activate(self.policy, decision, shown=shown))

    def explain(self, decision: DecisionOrId) -> dict[str, Any]:
        """A decision and its rewards as they were logged, and what the policy says of it now."""
        return self._send(calls.explain(self.policy, decision))

    def status(self) -> dict[str, Any]:
        """Settings and counts of the policy."""
        return self._send(calls.status(self.policy))

    def create(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Create the policy, by settings such as `{"actions": ["news", "film"], "wait_s": 600}`."""
        return self._send(calls.create(self.policy, settings))

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, call: Call[Answer]) -> Answer:
        for attempt in range(self._retries + 1):
            is_last = attempt == self._retries
            try:
                status, pause, content = self._ask(call)
            except (self._httpx.TransportError, TimeoutError) as error:
                if is_last:
                    raise ServiceUnreachable(f"the service at {self._http.base_url} did not answer: {error}") from None
                time.sleep(calls.pause_s(attempt, None))
                continue
            if is_last or status not in calls.AGAIN:
                break
            time.sleep(calls.pause_s(attempt, pause))
        return calls.result(call, status, content)

    def _ask(self, call: Call[Answer]) -> tuple[int, str | None, bytes]:
        """Status, pause and content of one answer, which is read in pieces, since the network's limit is for each."""
        end = time.monotonic() + self._timeout_s
        pieces: list[bytes] = []
        with self._http.stream(call.method, call.path, content=call.content) as answer:
            for piece in answer.iter_bytes():
                pieces.append(piece)
                if time.monotonic() > end:
                    raise TimeoutError(f"its answer was not complete after {self._timeout_s:g} s")
            return answer.status_code, answer.headers.get("retry-after"), b"".join(pieces)
