"""A demonstration: a site on this machine, and simulated visitors of a shop who click minutes later, in seconds."""

import heapq
import json
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from stumpery.service.server import serve
from stumpery.service.settings import PolicySettings, SiteSettings

OFFERS = ("jacket", "tent", "voucher", "newsletter")
SHOP, CHALLENGER = "offers", "linear"
COLUMNS: dict[str, str | list[str | float]] = {
    "device": "categorical",
    "hour": "numerical",
    "days_since": "numerical",
    "country": "categorical",
}
WAIT_S, MEAN_DELAY_S = 12.0, 3.0
Context = dict[str, Any]


def demonstrate(folder: str, port: int, visitors_per_s: float, announce: Callable[[str], None]) -> None:
    """Serve a policy and a shadow of it, and send visitors, until Ctrl-C."""
    forest = PolicySettings(actions=OFFERS, wait_s=WAIT_S, seed=7)
    linear = PolicySettings(actions=OFFERS, kind="LinUCB", columns=COLUMNS, wait_s=WAIT_S, seed=7, shadow_of=SHOP)
    settings = SiteSettings(folder=folder, port=port, policies={SHOP: forest, CHALLENGER: linear}, log_format="text")

    def begin(address: str) -> None:
        visitors = Visitors(address, visitors_per_s)
        threading.Thread(target=visitors.run, name="visitors", daemon=True).start()
        announce(address)

    serve(settings, begin)


class Visitors:
    """Simulated visitors: each asks for an offer, and clicks on some of them a few seconds later.

    Args:
        address: Where the service is.
        per_second: Visitors a second.
        seed: Seed of their features and clicks.
    """

    def __init__(self, address: str, per_second: float, seed: int = 7) -> None:
        parts = urlsplit(address)
        self._connection = HTTPConnection(parts.hostname or "127.0.0.1", parts.port, timeout=10)
        self._per_second = per_second
        self._rng = np.random.default_rng(seed)
        self._clicks: list[tuple[float, str]] = []

    def run(self) -> None:
        """Visit for as long as the service answers."""
        try:
            while True:
                self.visit()
                time.sleep(self._rng.exponential(1.0 / self._per_second))
        except OSError:  # the service has stopped
            self._connection.close()

    def visit(self) -> None:
        """Send the clicks that are due, then one visitor."""
        now = time.monotonic()
        while self._clicks and self._clicks[0][0] <= now:
            self._ask("reward", {"event_id": heapq.heappop(self._clicks)[1], "value": 1.0})
        context = self.context()
        answer = self._ask("decide", {"context": context})
        if "event_id" in answer and self._rng.random() < click_rate(context, answer["action"]):
            heapq.heappush(self._clicks, (now + self._rng.exponential(MEAN_DELAY_S), answer["event_id"]))

    def context(self) -> Context:
        """A visitor as the shop knows them."""
        rng = self._rng
        return {
            "device": str(rng.choice(["phone", "laptop", "tablet"], p=[0.6, 0.3, 0.1])),
            "hour": int(rng.integers(24)),
            "days_since": None if rng.random() < 0.3 else int(rng.exponential(20)),
            "country": str(rng.choice(["de", "fr", "it", "pl", "se"])),
        }

    def _ask(self, operation: str, body: Any) -> Any:
        headers = {"Content-Type": "application/json"}
        self._connection.request("POST", f"/v1/policies/{SHOP}/{operation}", json.dumps(body), headers)
        return json.loads(self._connection.getresponse().read())


def click_rate(context: Context, offer: str) -> float:
    """The probability of a click, a rule that the policy does not know."""
    is_new = context["days_since"] is None
    if offer == "voucher" and is_new:
        return 0.35
    if offer == "tent" and context["country"] in ("se", "pl") and context["hour"] >= 18:
        return 0.40
    if offer == "jacket" and context["device"] == "laptop" and not is_new:
        return 0.30
    return {"jacket": 0.06, "tent": 0.05, "voucher": 0.08, "newsletter": 0.04}[offer]
