"""Readers and the articles that might be shown to them: many actions, of which it is known what they are like."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from stumpery.frames import make_frame
from stumpery.options import check_number, check_whole
from stumpery.streams.blocks import BLOCK, Arrays, generator, resized
from stumpery.types import Batch, Floats, Integers

SEGMENTS = ("new", "student", "worker", "parent", "retired")
EVENING = 18  # its first hour
PATIENT = 40  # the age from which prices do not matter
LEVEL, TASTE, PRICE = -1.5, 1.2, 2.0  # in log odds: of all, of a segment for a topic, of a price to the young


class Articles(NamedTuple):
    """What is shown, and who likes it; all but the first two in log odds."""

    topics: Integers
    prices: Floats
    own: Floats  # what an article is beyond its topic and price
    tastes: Floats  # (segments, topics)
    evening: Floats  # (topics,)


@dataclass(kw_only=True)
class Catalogue:
    """One of many articles is shown to each reader and may be bought, which pays 1.

    Readers have a segment, an age and an hour; articles a topic and a price, which `features` tells. Every segment has
    its taste for every topic, the evening another, and the young mind prices. Articles of one topic and price differ
    by `own`, a standard deviation of their log odds. `articles_seed` draws articles and tastes, the seed of `batches`
    the readers.

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
        """What each article is like, as `RewardForest` takes it."""
        pairs = zip(self._articles.topics.tolist(), self._articles.prices.tolist(), strict=True)
        return {place: {"topic": f"topic {topic}", "price": price} for place, (topic, price) in enumerate(pairs)}

    def batches(self, *, seed: int, size: int) -> Iterator[Batch]:
        """Batches of `size` readers without end, with the exact probabilities as `expected`."""
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
