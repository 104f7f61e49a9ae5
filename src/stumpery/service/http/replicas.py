"""The processes that serve one log, as the page and the metrics show them, and what each of them answers."""

from typing import Any

from msgspec import Struct

from stumpery.service.engine.engine import Engine
from stumpery.service.errors import ServiceUnavailable
from stumpery.service.settings import Right, Role, SiteSettings

GONE_S = 10.0


class ReplicaShown(Struct):
    """A process that serves the log: who it is, and how far it has read."""

    name: str
    role: Role
    address: str
    is_leader: bool
    is_self: bool
    is_ready: bool
    is_gone: bool
    epoch: int
    number: int
    behind: int
    events_per_s: float
    hash_number: int
    hash: str
    heard_s: float


def replicas(engine: Engine) -> list[ReplicaShown]:
    """All processes that were heard of lately, by name."""
    leader = engine.journal.replica.leader
    last = max([engine.journal.replica.number, *(each.member.number for each in engine.leading.seen)])
    return [
        ReplicaShown(
            name=each.member.name,
            role=each.member.role,
            address=each.member.address,
            is_leader=leader is not None and (leader.name, leader.run) == (each.member.name, each.member.run),
            is_self=each.member.run == engine.leading.run,
            is_ready=each.member.is_ready,
            is_gone=each.age_ms > 1000 * GONE_S,
            epoch=each.member.epoch,
            number=each.member.number,
            behind=last - each.member.number if each.age_ms > 1000 * GONE_S else each.member.n_behind,
            events_per_s=each.member.events_per_s,
            hash_number=each.member.hash_number,
            hash=each.member.hash,
            heard_s=each.age_ms / 1000,
        )
        for each in engine.leading.seen
    ]


def metrics_of(engine: Engine) -> dict[str, dict[str, Any]]:
    """Numbers of each process, by name, for the metrics."""
    return {
        each.name: {
            "leader": int(each.is_leader),
            "ready": int(each.is_ready and not each.is_gone),
            "epoch": each.epoch,
            "position": each.number,
            "behind": each.behind,
            "events_per_second": round(each.events_per_s, 3),
            "heard_seconds": each.heard_s,
        }
        for each in replicas(engine)
    }


def check_role(settings: SiteSettings, right: Right) -> None:
    """Refuse decisions and rewards where the process is a learner, which serves nobody."""
    if settings.role == "learner" and right != "admin":
        raise ServiceUnavailable("this process is a learner, which decides nothing; ask a server or a decider")
