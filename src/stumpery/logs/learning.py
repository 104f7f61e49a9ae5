"""Several policies learn one log side by side."""

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, NamedTuple

from stumpery.errors import InvalidInput
from stumpery.jobs.executor import Advance, Executor, check_executor, in_order
from stumpery.jobs.threads import Threads
from stumpery.logs.log import Log
from stumpery.options import shown
from stumpery.policies import Policy


class LearningTask(NamedTuple):
    """A policy and the log that it learns."""

    log: Log
    policy: Policy


def learn(
    log: Log,
    policies: Mapping[str, Policy],
    *,
    executor: Executor | None = None,
    progress: Callable[[int], None] | None = None,
) -> dict[str, Policy]:
    """Copies of policies that have learned a log, each as `policy.learn_log` does it, several at once.

    Args:
        log: The log; each policy reads it for itself.
        policies: The policies by name; they themselves learn nothing.
        executor: Where they learn, such as `stumpery.jobs.Processes(4)`; by default two threads.
        progress: Called with numbers of rows, those of all policies together.

    >>> import stumpery as st
    >>> frame = {"hour": [9, 21] * 20, "action": ["a", "b"] * 20, "reward": [1.0, 0.0] * 20}
    >>> log = st.logs.from_frame(frame, action="action", reward="reward")
    >>> policies = {"UCB": st.UCB(actions=["a", "b"]), "LinUCB": st.LinUCB(actions=["a", "b"])}
    >>> [sum(row["n"] for row in policy.explain().rows) for policy in learn(log, policies).values()]
    [40, 40]
    """
    _check(log, policies)
    executor = Threads() if executor is None else executor
    check_executor(executor)
    log.scan()
    copies: list[Any] = [policy.clone(include_attributes=True) for policy in policies.values()]
    tasks = [LearningTask(copy(log), policy) for policy in copies]
    return dict(zip(policies, in_order(executor.map(learned, tasks, progress=progress)), strict=True))


def _check(log: Any, policies: Any) -> None:
    if not isinstance(log, Log):
        raise InvalidInput(f"log is {shown(log)}; it must come from stumpery.logs.read or stumpery.logs.from_frame")
    if not isinstance(policies, Mapping) or not policies:
        raise InvalidInput(f"policies is {shown(policies)}; it must be a dict from at least one name to its policy")
    for name, policy in policies.items():
        if not isinstance(policy, Policy):
            raise InvalidInput(f"the policy {shown(name)} is {shown(policy)}; it must be a policy")


def learned(task: LearningTask, advance: Advance) -> Policy:
    """A policy that has learned a log."""
    task.policy.learn_log(task.log, progress=advance)
    return task.policy
