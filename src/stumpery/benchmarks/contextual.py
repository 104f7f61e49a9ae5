"""Speed of contextual policies on Covertype against peers, memory of the bandit forest, and time of one decision.

Our times include encoding of the frame or matrix; the rows of peers are converted to their format beforehand.
"""

from collections.abc import Callable, Iterator
from statistics import mean
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from stumpery.benchmarks import contextual_peers as peers
from stumpery.benchmarks import covertype
from stumpery.benchmarks.covertype import ACTIONS
from stumpery.benchmarks.runner import Benchmark, Measure
from stumpery.policies import BanditForest, Banditron, LinUCB, NeuralBandit, Policy, RewardForest
from stumpery.streams import Catalogue
from stumpery.types import Batch

N_EVENTS = 20_000
N_FOREST_EVENTS = 200_000
N_DICTS = 2_000
N_READERS = 5_000
CATALOGUES = [Catalogue(n_actions=100, articles_seed=seed) for seed in range(10)]
N_FIRST = 100  # events that compile everything before the measurement
MAX_FOREST_BYTES, MAX_DECIDE_US = 200e6, 80.0
FOREST_EVENTS_PER_S = 150e3


def benchmarks() -> Iterator[Benchmark]:
    """Decide and learn against peers; speed and memory of the paper's forest; one decision."""
    yield from reward_forests()
    yield from action_features()
    yield from linear_policies()
    yield from bandit_forests()
    yield Benchmark(
        name="contextual/reward-forest/dict", unit="us", ours=one_dict, peer=MAX_DECIDE_US, peer_name="target"
    )


def reward_forests() -> Iterator[Benchmark]:
    """Forests of several sizes on 12 columns, and the default on bits, against Vowpal Wabbit."""
    raw, bits = covertype.raw, covertype.bits
    sizes: list[tuple[str, dict[str, int], Callable[[int], Batch]]] = [
        ("covertype", {}, raw),
        ("covertype/30-trees", {"n_trees": 30}, raw),
        ("covertype/100-trees", {"n_trees": 100}, raw),
        ("bits", {}, bits),
    ]
    for name, options, rows in sizes:
        yield Benchmark(
            name=f"contextual/reward-forest/{name}",
            unit="events/s",
            ours=compiled(RewardForest, rows, **options),
            peer=peers.vowpal_wabbit(rows, N_EVENTS),
            peer_name=f"vw {peers.VW_OPTIONS}, lines of text",
            needs="vowpalwabbit",
        )


def action_features() -> Iterator[Benchmark]:
    """Actions with features, against Vowpal Wabbit and against the same forest without features."""
    vw: dict[str, Any] = {"peer_name": f"vw {peers.VW_ADF_OPTIONS}, lines of text", "needs": "vowpalwabbit"}
    yield Benchmark(
        name="contextual/action-features/speed",
        unit="events/s",
        ours=lambda: play_catalogue(CATALOGUES[0]).speed,
        peer=lambda: peers.vowpal_wabbit_adf(CATALOGUES[0], N_READERS)[0],
        **vw,
    )
    yield Benchmark(
        name="contextual/action-features/reward",
        unit="reward",
        ours=lambda: mean(play_catalogue(stream).reward for stream in CATALOGUES),
        peer=lambda: mean(peers.vowpal_wabbit_adf(stream, N_READERS)[1] for stream in CATALOGUES),
        is_slow=True,
        **vw,
    )
    yield Benchmark(
        name="contextual/action-features/reward-without",
        unit="reward",
        ours=lambda: mean(play_catalogue(stream).reward for stream in CATALOGUES),
        peer=lambda: mean(play_catalogue(stream, with_features=False).reward for stream in CATALOGUES),
        peer_name="the same forest without features",
        is_slow=True,
    )


class CatalogueMetrics(NamedTuple):
    """Events per second, and the mean probability of a reward."""

    speed: float
    reward: float


def play_catalogue(stream: Catalogue, *, with_features: bool = True) -> CatalogueMetrics:
    """Events per second and mean reward of a reward forest on the first readers of a catalogue."""
    contexts, rewards, expected = next(stream.batches(seed=0, size=N_READERS))
    assert expected is not None  # noqa: S101 - a catalogue has exact expected rewards
    features = stream.features if with_features else None
    RewardForest(actions=stream.actions, features=features).play(contexts[:N_FIRST], rewards[:N_FIRST])
    policy = RewardForest(actions=stream.actions, features=features)
    start = perf_counter()
    played = policy.play(contexts, rewards)
    speed = N_READERS / (perf_counter() - start)
    return CatalogueMetrics(speed, float(expected[np.arange(N_READERS), played.actions].mean()))


def linear_policies() -> Iterator[Benchmark]:
    """LinUCB against two peers on 54 standardised numbers; Banditron and NeuralBandit against our LinUCB."""
    for peer, peer_name, needs in (
        (peers.mabwiser_linucb(N_EVENTS), "MABWiser LinUCB, batches of 100", "mabwiser"),
        (peers.river_linucb(peers.N_RIVER_EVENTS), "river LinUCBDisjoint", "river"),
    ):
        yield Benchmark(
            name=f"contextual/linucb/{needs}",
            unit="events/s",
            ours=compiled(LinUCB, covertype.standardised),
            peer=peer,
            peer_name=peer_name,
            needs=needs,
        )
    for name, kind in (("banditron", Banditron), ("neural-bandit", NeuralBandit)):
        yield Benchmark(
            name=f"contextual/{name}",
            unit="events/s",
            ours=compiled(kind, covertype.standardised),
            peer=compiled(LinUCB, covertype.standardised),
            peer_name="our LinUCB",
        )


def bandit_forests() -> Iterator[Benchmark]:
    """The paper's forest on 94 bits: speed and memory against targets."""
    literal: dict[str, Any] = {"n_trees": 100, "max_depth": (10, 18), "vote": "all"}
    speed = compiled(BanditForest, covertype.bits, N_FOREST_EVENTS, **literal)
    yield Benchmark(
        name="contextual/bandit-forest/bits", unit="events/s", ours=speed, peer=FOREST_EVENTS_PER_S, peer_name="target"
    )

    def n_bytes() -> float:
        policy = BanditForest(actions=ACTIONS, **literal)
        policy.play(*covertype.bits(N_FOREST_EVENTS)[:2])
        return float(policy.n_bytes)

    yield Benchmark(
        name="contextual/bandit-forest/memory",
        unit="bytes",
        ours=n_bytes,
        peer=MAX_FOREST_BYTES,
        peer_name="target",
        is_slow=True,
    )


def compiled(kind: type[Policy], rows: Callable[[int], Batch], n: int = N_EVENTS, **options: Any) -> Measure:
    """`play` over known rewards, one thread, the encoding of the rows included."""

    def run() -> float:
        contexts, rewards, _ = rows(n)
        kind(actions=ACTIONS, **options).play(contexts[:N_FIRST], rewards[:N_FIRST])
        policy = kind(actions=ACTIONS, **options)
        start = perf_counter()
        policy.play(contexts, rewards)
        return n / (perf_counter() - start)

    return run


def one_dict() -> float:
    """Microseconds for `decide` on a dict of 54 columns, by a forest that has learned."""
    contexts, rewards, _ = covertype.wide(N_EVENTS)
    policy = RewardForest(actions=ACTIONS)
    policy.play(contexts, rewards)
    dicts = contexts[:N_DICTS].to_dicts()
    policy.decide(dicts[0])
    start = perf_counter()
    for row in dicts:
        policy.decide(row)
    return (perf_counter() - start) / N_DICTS * 1e6
