"""Kill -9 of deciders, of the learner and of PostgreSQL while requests come: nothing is lost, and all stay equal.

    python -m tests.service.faults.several_kills --kills 50 --postgresql
    python -m tests.service.faults.several_kills --kills 50                       # processes of one machine on a file
    python -m tests.service.faults.several_kills --kills 4 --plant early          # answers before it commits
    python -m tests.service.faults.several_kills --kills 4 --plant probability    # draws by others than it should

Two deciders and a learner serve one log. Clients send a decision to one of them and its reward to another, and send
again, to any of them, what was not answered. After each kill, when the killed one is back, the clients pause, and all
replicas and one that was rebuilt without interruption must have equal hashes. In the end every answered event must be
in the log, and every decision is drawn again.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from itertools import cycle, takewhile
from pathlib import Path

import numpy as np
from tests.service.faults.retrying_client import Load
from tests.service.faults.server_process import ServerProcess
from tests.service.postgresql import postgresql_server

from stumpery.service.engine.snapshots import Snapshots
from stumpery.service.events import DecisionMade, RewardCame, decoded
from stumpery.service.log.opening import open_log
from stumpery.service.replica.site_replica import SiteReplica
from stumpery.service.settings import site_of
from stumpery.service.upkeep.checking import recomputed

ROLES = {"one": "decider", "two": "decider", "learner": "learner"}
COMPARE_S = 60.0


class Site:
    """Processes on one log, in folders of their own where it is in a database."""

    def __init__(self, folder, server=None, plant=None):
        self.folder, self.server, self.plant = folder, server, plant
        self.log = None if server is None else server.address
        self.processes = {}
        self.reference = SiteReplica()

    def start(self, name, role):
        folder = self.folder / (name if self.server else "site")
        self.processes[name] = ServerProcess(name, role, folder, self.log, self.plant)

    def back(self, victim):
        """Kill one of them, start it again, and return the seconds until it does its work."""
        if victim == "postgresql":
            self.server.kill_9()
            killed = time.monotonic()
            self.server.start()
            for process in self.processes.values():
                process.wait_until(lambda process=process: process.get("/readyz")[0] == 200)
            return time.monotonic() - killed
        self.processes[victim].kill()
        killed = time.monotonic()
        self.start(victim, ROLES[victim])
        if ROLES[victim] == "learner":
            self.processes[victim].wait_until(self.processes[victim].leads)
        return time.monotonic() - killed

    def visit(self, name):
        """A process joins while requests come, and leaves; the clients do not know before."""
        self.start(name, "decider")
        time.sleep(0.5)
        self.processes[name].stop()
        del self.processes[name]

    def are_equal(self):
        """Whether all replicas have the hash of one that was rebuilt without interruption."""
        end = time.monotonic() + COMPARE_S
        while time.monotonic() < end:
            found = [process.digest() for process in self.processes.values()]
            if None not in found and len({number for number, _ in found}) == 1:
                return {digest for _, digest in found} == {self.rebuilt(found[0][0])}
            time.sleep(0.05)
        raise TimeoutError("the processes did not come to the same event")

    def rebuilt(self, number):
        log = self.open(is_reader=True)
        try:
            rows = log.rows(self.reference.number)
            self.reference.replay(takewhile(lambda row: row.number <= number, rows))
        finally:
            log.close()
        return self.reference.digest()

    def open(self, **how):
        return open_log(site_of(None, folder=self.folder / "site", log=self.log), **how)

    def logged(self):
        """What is in the log, by id and kind; the decisions drawn again; whether another rebuild is equal."""
        log, found = self.open(is_reader=True), set()
        try:
            for row in log.rows():
                event = decoded(row.content)
                if isinstance(event, DecisionMade):
                    found.add((row.event, "decision", event.action, event.probability))
                elif isinstance(event, RewardCame):
                    found.add((row.event, "reward", event.value))
            again = recomputed(log, Snapshots(self.folder / "none"))
            last = log.last()[0]
            return found, again, self.rebuilt(last) == SiteReplica.of_log(log).digest(), last
        finally:
            log.close()


def rounds(folder, kills, seed, server=None, plant=None):
    """Kill so many times; what was answered, lost, unequal and wrong, and the seconds until each was back."""
    rng = np.random.default_rng(seed)
    site = Site(folder, server, plant)
    victims = cycle(["one", "learner", "two", *(["postgresql"] if server else [])])
    back = {}
    n_unequal = 0
    with ExitStack() as stack:
        for name, role in ROLES.items():
            site.start(name, role)
        stack.callback(lambda: [process.stop() for process in site.processes.values()])
        load = stack.enter_context(Load(site.processes, seed))
        for kill in range(kills):
            load.go_on()
            time.sleep(rng.uniform(0.2, 0.8))
            victim = next(victims)
            back.setdefault(victim, []).append(site.back(victim))
            if kill % 10 == 1:
                site.visit(f"visitor{kill}")
            load.pause()
            n_unequal += not site.are_equal()
    found, again, is_equal, n_rows = site.logged()
    answered = load.answered()
    return {
        "kills": {victim: len(seconds) for victim, seconds in back.items()},
        "answered": len(answered),
        "answered_by_another_process": load.n_elsewhere,
        "lost": len(answered - found),
        "contradictions": load.n_contradictions,
        "unequal": n_unequal + (not is_equal),
        "decisions_drawn_again": again.n_equal + again.n_different,
        "wrong_probabilities": again.n_different + again.n_unknown,
        "rows": n_rows,
        "back_s": {victim: [round(statistics.median(s), 2), round(max(s), 2)] for victim, s in back.items()},
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--postgresql", action="store_true", help="start a database, and kill it, too")
    parser.add_argument("--plant", choices=["early", "probability"], help="a fault that must be found")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(postgresql_server()) if options.postgresql else None
        result = rounds(folder, options.kills, options.seed, server, options.plant)
    print(json.dumps(result))
    return int(any(result[each] for each in ("lost", "contradictions", "unequal", "wrong_probabilities")))


if __name__ == "__main__":
    sys.exit(main())
