"""What it costs to cut the log of one policy into partitions, each learned by a policy of its own.

The log is of uniformly drawn actions. One forest learns it all; or k forests learn every k-th event each, and decide
together: by a vote, or by the mean of their predicted rewards. Ridge regression has statistics that add up, so its
partitions lose nothing; a forest's statistics belong to the leaves of its own trees.
"""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from stumpery.evaluation.events import Progress, first_events
from stumpery.evaluation.intervals import mean_and_interval
from stumpery.evaluation.regret import trial_seeds
from stumpery.jobs.executor import Shared
from stumpery.policies import LinUCB, RewardForest
from stumpery.policies.filling import RewardPredictor
from stumpery.streams import TreeProblem
from stumpery.studies.contextual import datasets
from stumpery.studies.study import Finding, Outcome, Part, Parts, Settings, Study, finding, run_parts, verdicts
from stumpery.studies.table import TableResult, estimate
from stumpery.system.extras import need
from stumpery.types import Batch, Decisions, Floats, Integers, Stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_PARTITIONS = (1, 2, 4, 8)
N_UNSEEN = 20_000  # events that are decided and not learned
LEARNED_BLOCK = 10_000  # events
TREES, BITS = "TreeProblem", "Covertype, noisy bits"
FORESTS = (TREES, "Covertype")  # streams of the reward forest
VOTE, MEAN, SUMS, ALONE = "vote", "mean of scores", "summed statistics", "one of them alone"
RIDGE = 1.0
LONG_LOG = 400_000


def titles() -> list[tuple[str, str]]:
    """The policies and streams whose data are on this machine."""
    known = datasets.CONTEST
    here = [title for title in (*FORESTS, BITS) if title in known and datasets.is_available(known[title].dataset)]
    forests = [("reward forest", title) for title in FORESTS if title == TREES or title in here]
    return forests + [("LinUCB", BITS)] * (BITS in here)


def run(settings: Settings, parts: Parts, progress: Progress) -> Outcome:
    """Learn every log whole and in partitions."""
    cells, n = list(product(titles(), N_PARTITIONS)), settings.trials
    streams: dict[str, Stream] = {
        title: TreeProblem(n_names=0) if title == TREES else datasets.CONTEST[title].open() for _, title in titles()
    }
    shared = {title: settings.where.put(stream) for title, stream in streams.items()}
    wanted = []
    for ((kind, title), k), trial in product(cells, range(n)):
        make = partial(learn_partitions, shared[title], kind, k, settings.steps, settings.seed, trial)
        wanted.append(Part(f"{kind} on {title}, {k} partitions, trial {trial}", settings.steps, make))
    trials = run_parts(wanted, settings, parts, progress)
    rows = [row for at, cell in enumerate(cells) for row in rows_of(*cell, trials[at * n : (at + 1) * n])]
    return Outcome(
        result=TableResult(rows),
        table=[line(*key, rows) for key in dict.fromkeys((r["policy"], r["stream"], r["decided_by"]) for r in rows)],
        findings=verdicts(claims(rows), enough=settings.steps >= LONG_LOG),
        draw=lambda: draw(rows),
    )


def learn_partitions(
    shared: Shared[Stream], kind: str, k: int, steps: int, seed: int, trial: int, progress: Progress
) -> dict[str, float]:
    """The average reward of unseen events, by how k policies decide together."""
    stream, (events_seed, policy_seed) = shared.get(), trial_seeds(seed, trial)
    events = next(first_events(stream.batches(seed=events_seed, size=steps + N_UNSEEN), steps + N_UNSEEN))
    logged = np.random.default_rng(events_seed).integers(0, len(stream.actions), steps)
    policies = []
    for place in range(k):
        policy: RewardPredictor[Any]
        if kind == "LinUCB":
            policy = LinUCB(actions=stream.actions, seed=policy_seed + place, ridge=RIDGE)
        else:
            policy = RewardForest(actions=stream.actions, seed=policy_seed + place)
        learn_log(policy, events, logged, np.arange(place, steps, k), progress)
        policies.append(policy)
    unseen = events.contexts[steps:]
    return earned(policies, unseen, events.rewards[steps:])


def learn_log(
    policy: RewardPredictor[Any], events: Batch, logged: Integers, rows: Integers, progress: Progress
) -> None:
    """Learn some events of a log."""
    for start in range(0, len(rows), LEARNED_BLOCK):
        block = rows[start : start + LEARNED_BLOCK]
        actions = [policy.actions[action] for action in logged[block].tolist()]
        probabilities = np.full(len(block), 1.0 / len(policy.actions))
        policy.learn_many(
            Decisions(actions, probabilities, events.contexts[block]), events.rewards[block, logged[block]]
        )
        progress(len(block))


def earned(policies: Sequence[RewardPredictor[Any]], contexts: Any, rewards: Floats) -> dict[str, float]:
    """The average reward of the action with the highest score, by how scores are combined."""
    scores = np.array([policy.predict_rewards_many(contexts) for policy in policies])
    votes = np.zeros(rewards.shape)
    for each in scores:
        votes[np.arange(len(rewards)), each.argmax(axis=1)] += 1.0
    alone = [mean_reward(each, rewards) for each in scores]
    found = {ALONE: float(np.mean(alone)), VOTE: mean_reward(votes, rewards)}
    found[MEAN] = mean_reward(scores.mean(axis=0), rewards)
    if isinstance(policies[0], LinUCB):
        found[SUMS] = mean_reward(scores_of_sums(policies, np.asarray(contexts, dtype=np.float64)), rewards)
    return found


def mean_reward(scores: Floats, rewards: Floats) -> float:
    """The average reward of the action with the highest score."""
    return float(rewards[np.arange(len(rewards)), scores.argmax(axis=1)].mean())


def scores_of_sums(policies: Sequence[RewardPredictor[Any]], contexts: Floats) -> Floats:
    """The scores of ridge regression with A = ridge I + sum x x' and b = sum reward x over the rows of all policies."""
    arrays = [policy.state().arrays for policy in policies]
    inverses = np.array([each["inverses"] for each in arrays])
    sums = np.linalg.inv(inverses)
    b = np.einsum("kaij,kaj->ai", sums, np.array([each["thetas"] for each in arrays]))
    together = sums.sum(axis=0) - (len(policies) - 1) * RIDGE * np.eye(sums.shape[-1])
    thetas: Floats = np.linalg.solve(together, b[..., None])[..., 0]
    scores: Floats = np.column_stack([contexts, np.ones(len(contexts))]) @ thetas.T
    return scores


def rows_of(policy: tuple[str, str], k: int, trials: Sequence[dict[str, float]]) -> list[dict[str, Any]]:
    """A row for each way to decide together: the mean over trials, with the half-width of its 95 % interval."""
    kind, title = policy
    rows = []
    for way in trials[0]:
        mean, _, high = mean_and_interval(np.array([trial[way] for trial in trials])[:, None])
        found = {"policy": kind, "stream": title, "decided_by": way, "partitions": k}
        rows.append(found | {"average_reward": float(mean[0]), "plus_minus": float(high[0] - mean[0])})
    return rows


def line(kind: str, title: str, way: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A way to decide together in one line, by the number of partitions."""
    found = [r for r in rows if (r["policy"], r["stream"], r["decided_by"]) == (kind, title, way)]
    shown = {str(r["partitions"]): estimate(r["average_reward"], r["plus_minus"], ".3f") for r in found}
    return {"policy": kind, "stream": title, "decided by": way, **shown}


def claims(rows: Sequence[dict[str, Any]]) -> list[Finding]:
    """Whether any way to put partitions together pays."""
    by = {(r["policy"], r["stream"], r["decided_by"], r["partitions"]): r["average_reward"] for r in rows}
    found = []
    for kind, title in dict.fromkeys((row["policy"], row["stream"]) for row in rows):
        way = SUMS if kind == "LinUCB" else MEAN
        losses = {k: by[kind, title, way, 1] - by[kind, title, way, k] for k in N_PARTITIONS[1:]}
        found.append(
            finding(
                f"{kind} on {title}: partitions decide by the {way} as well as one policy, to .005",
                holds=max(losses.values()) <= 0.005,
                evidence=", ".join(f"{k}: {-lost:+.4f}" for k, lost in losses.items()),
            )
        )
    return found


def draw(rows: Sequence[dict[str, Any]]) -> "Figure":
    """A panel for each policy and stream: the average reward by the number of partitions."""
    shown = list(dict.fromkeys((row["policy"], row["stream"]) for row in rows))
    shape = {"figsize": (4.2 * len(shown), 3.8), "layout": "constrained", "squeeze": False}
    figure: Figure
    figure, panels = need("matplotlib.pyplot", "study").subplots(1, len(shown), **shape)
    for panel, (kind, title) in zip(panels[0], shown, strict=True):
        for way in (ALONE, VOTE, MEAN, SUMS):
            found = [r for r in rows if (r["policy"], r["stream"], r["decided_by"]) == (kind, title, way)]
            if found:
                panel.plot(
                    [r["partitions"] for r in found], [r["average_reward"] for r in found], marker="o", label=way
                )
        panel.set(xlabel="partitions", ylabel="average reward of unseen events", title=f"{kind}: {title}")
        panel.set_xticks(N_PARTITIONS)
        panel.legend()
    figure.suptitle("A log learned by one policy, or in partitions by several that decide together")
    return figure


STUDY = Study(
    name="partitions",
    title="Partitions: what it costs to learn one policy's log in parts",
    source="Stumpery's own",
    steps=LONG_LOG,
    trials=3,
    n_events=lambda settings: len(titles()) * len(N_PARTITIONS) * settings.steps * settings.trials,
    run=run,
)
