"""Generator of a recommendation problem: readers as contexts, articles with features as actions."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from stumpery.frames import make_frame
from stumpery.options import check_number, check_whole
from stumpery.streams.blocks import BLOCK, Arrays, generator, resized
from stumpery.types import Batch, Floats, Integers

SEGMENTS = ("new", "student", "worker", "parent", "retired")
EVENING = 18  # first hour of the evening
PATIENT = 40  # age from which prices have no effect
LEVEL, TASTE, PRICE = -1.5, 1.2, 2.0  # log odds: intercept, spread of tastes, effect of a price on the young


class Articles(NamedTuple):
    """Articles and tastes; all but topics and prices in log odds."""

    topics: Integers
    prices: Floats
    own: Floats  # effect of an article beyond topic and price
    tastes: Floats  # (segments, topics)
    evening: Floats  # (topics,)


@dataclass(kw_only=True)
class Catalogue:
    """Recommendation bandit with action features: an article is shown to each reader; a purchase pays 1.

    Contexts are readers with segment, age and hour. Articles have a topic and a price, given by `features`. Each
    segment has its own taste for each topic, tastes differ in the evening, and prices deter readers below 40.

    Args:
        n_actions: Number of articles, 2 to 10,000.
        n_topics: Number of topics, 1 to 1000.
        own: Standard deviation of the log odds among articles of the same topic and price, 0 to 10.
        articles_seed: Seed of articles and tastes; the seed of `batches` draws the readers.

    >>> stream = Catalogue(n_actions=3, n_topics=2)
    >>> sorted(stream.features), list(stream.features[0])
    ([0, 1, 2], ['topic', 'price'])
    >>> next(stream.batches(seed=7, size=5)).rewards.shape
    (5, 3)
    """

    n_actions: int = 50
    n_topics: int = 8
    own: float = 0.3
    articles_seed: int = 0
    actions: range = field(init=False, repr=False)
    reward_range: tuple[float, float] = field(init=False, repr=False, default=(0.0, 1.0))

    def __post_init__(self) -> None:
        check_whole("n_actions", self.n_actions, 2, 10_000)
        check_whole("n_topics", self.n_topics, 1, 1000)
        check_number("own", self.own, 0.0, 10.0)
        check_whole("articles_seed", self.articles_seed, 0)
        self.actions = range(self.n_actions)
        rng = generator(self.articles_seed)
        self._articles = Articles(
            rng.integers(0, self.n_topics, self.n_actions),
            np.round(rng.random(self.n_actions), 2),
            rng.normal(0.0, self.own, self.n_actions),
            rng.normal(0.0, TASTE, (len(SEGMENTS), self.n_topics)),
            rng.normal(0.0, 1.0, self.n_topics),
        )

    @property
    def features(self) -> dict[int, dict[str, Any]]:
        """The features of each article, as `RewardForest` takes them."""
        pairs = zip(self._articles.topics.tolist(), self._articles.prices.tolist(), strict=True)
        return {article: {"topic": f"topic {topic}", "price": price} for article, (topic, price) in enumerate(pairs)}

    def batches(self, *, seed: int, size: int) -> Iterator[Batch]:
        """Endless batches of `size` readers, with the exact probabilities as `expected`."""
        runs = resized(self._events(generator(seed)), size)
        return (Batch(_readers(*readers), rewards, expected) for *readers, rewards, expected in runs)

    def _events(self, rng: np.random.Generator) -> Iterator[Arrays]:
        topics, prices, own, tastes, evening = self._articles
        while True:
            segments = rng.integers(0, len(SEGMENTS), BLOCK)
            ages, hours = rng.integers(18, 80, BLOCK), rng.integers(0, 24, BLOCK)
            odds: Floats = LEVEL + own + tastes[segments[:, None], topics]
            odds += np.outer(hours >= EVENING, evening[topics]) - np.outer(ages < PATIENT, PRICE * prices)
            expected = 1.0 / (1.0 + np.exp(-odds))
            yield segments, ages, hours, (rng.random(expected.shape) < expected).astype(np.float64), expected


def _readers(segments: Integers, ages: Integers, hours: Integers) -> Any:
    return make_frame({"segment": np.array(SEGMENTS)[segments].tolist(), "age": ages, "hour": hours})
