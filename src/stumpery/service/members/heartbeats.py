"""Heartbeats: how long each process has been silent, by this process's own clock.

Clocks of machines go backwards and jump. So the age of an entry by the clock that wrote it counts only when it is seen
first; from then on an entry is as old as the time in which it has not changed.
"""

import time
from collections.abc import Callable

from stumpery.service.members.member import Seen


class Heartbeats:
    """The last heartbeat of each process, and when it came.

    Args:
        clock: Seconds that never go backwards.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._heard: dict[str, tuple[str, int, float]] = {}  # name: run, count of what it said, when it was new

    def aged(self, seen: list[Seen]) -> list[Seen]:
        """The processes with their ages by this process's clock."""
        now, aged = self._clock(), []
        for each in seen:
            said = each.member.run, each.member.n_told
            known = self._heard.get(each.member.name)
            if known is None or known[:2] != said:
                known = *said, now - (each.age_ms / 1000 if known is None else 0.0)
            self._heard[each.member.name] = known
            aged.append(Seen(each.member, round(1000 * (now - known[2]))))
        self._heard = {name: self._heard[name] for name in self._heard.keys() & {each.member.name for each in seen}}
        return aged
