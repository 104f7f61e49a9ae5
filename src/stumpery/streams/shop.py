"""Generator of a shop: users as contexts, many items with features and a quality of their own as actions."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from stumpery.frames import make_frame
from stumpery.options import check_number, check_whole
from stumpery.streams.blocks import Arrays, generator, resized
from stumpery.types import Batch, Floats, Integers

GROUPS = ("student", "family", "single", "senior", "business")
N_TOPICS, N_LEVELS, N_BRANDS = 8, 5, 20
MIN_AGE, MAX_AGE = 18, 80  # the level that users want rises with age, from 1 to N_LEVELS
LOG_PRICE, SPREAD_PRICE, SPREAD_SPEND = 3.0, 0.8, 0.7  # of the logarithms of prices, and of what users spend
INTERCEPT, TASTE_SPREAD, BRAND_SPREAD, LEVEL_STEP, PRICE_EFFECT = (
    -1.8,
    1.2,
    0.3,
    -0.6,
    -1.0,
)  # log odds; a price counts beyond the spend
SHOP_BLOCK = 512  # users drawn at a time: with a thousand items a block has half a million probabilities


class Items(NamedTuple):
    """Items and the tastes for them."""

    topics: Integers
    levels: Integers
    prices: Floats
    brands: Integers
    quality: Floats  # log odds of brand and item
    tastes: Floats  # (groups, topics), log odds


@dataclass(kw_only=True)
class Shop:
    """Recommendation bandit with many actions and features: an item is shown to each user; a purchase pays 1.

    Users have a group, an age and what they like to spend. Items have a topic, a level, a price and a brand, given by
    `features`, and a quality of their own. Groups like topics differently, each age wants another level, prices above
    the spend deter.

    Args:
        n_actions: Number of items, 2 to 10,000.
        own: Standard deviation of the quality of items, in log odds, 0 to 10.
        items_seed: Seed of items and tastes; the seed of `batches` draws the users.

    >>> stream = Shop(n_actions=3)
    >>> list(stream.features[0])
    ['topic', 'level', 'price', 'brand']
    >>> next(stream.batches(seed=7, size=5)).rewards.shape
    (5, 3)
    """

    n_actions: int = 100
    own: float = 0.35
    items_seed: int = 0
    actions: range = field(init=False, repr=False)
    reward_range: tuple[float, float] = field(init=False, repr=False, default=(0.0, 1.0))

    def __post_init__(self) -> None:
        check_whole("n_actions", self.n_actions, 2, 10_000)
        check_number("own", self.own, 0.0, 10.0)
        check_whole("items_seed", self.items_seed, 0)
        self.actions = range(self.n_actions)
        rng, n = generator(self.items_seed), self.n_actions
        brands, brand_quality = rng.integers(0, N_BRANDS, n), rng.normal(0.0, BRAND_SPREAD, N_BRANDS)
        self._items = Items(
            rng.integers(0, N_TOPICS, n),
            rng.integers(1, N_LEVELS + 1, n),
            np.round(rng.lognormal(LOG_PRICE, SPREAD_PRICE, n), 2),
            brands,
            brand_quality[brands] + rng.normal(0.0, self.own, n),
            rng.normal(0.0, TASTE_SPREAD, (len(GROUPS), N_TOPICS)),
        )

    @property
    def features(self) -> dict[int, dict[str, Any]]:
        """The features of each item, as `RewardForest` takes them."""
        topics, levels, prices, brands, *_ = (column.tolist() for column in self._items)
        return {
            item: {"topic": f"topic {topic}", "level": float(level), "price": price, "brand": f"brand {brand}"}
            for item, (topic, level, price, brand) in enumerate(zip(topics, levels, prices, brands, strict=True))
        }

    def batches(self, *, seed: int, size: int) -> Iterator[Batch]:
        """Endless batches of `size` users, with the exact probabilities as `expected`."""
        runs = resized(self._events(generator(seed)), size)
        return (Batch(_users(*users), rewards, expected) for *users, rewards, expected in runs)

    def _events(self, rng: np.random.Generator) -> Iterator[Arrays]:
        topics, levels, prices, _, quality, tastes = self._items
        while True:
            groups, ages = rng.integers(0, len(GROUPS), SHOP_BLOCK), rng.integers(MIN_AGE, MAX_AGE, SHOP_BLOCK)
            spends = np.round(rng.lognormal(LOG_PRICE, SPREAD_SPEND, SHOP_BLOCK), 2)
            wanted = 1.0 + (N_LEVELS - 1.0) * (ages - MIN_AGE) / (MAX_AGE - MIN_AGE)
            odds: Floats = INTERCEPT + quality + tastes[groups[:, None], topics]
            odds += LEVEL_STEP * np.abs(wanted[:, None] - levels)
            odds += PRICE_EFFECT * np.maximum(np.log(prices) - np.log(spends)[:, None], 0.0)
            expected = 1.0 / (1.0 + np.exp(-odds))
            yield groups, ages, spends, (rng.random(expected.shape) < expected).astype(np.float64), expected


def _users(groups: Integers, ages: Integers, spends: Floats) -> Any:
    return make_frame({"group": np.array(GROUPS)[groups].tolist(), "age": ages, "spend": spends})
