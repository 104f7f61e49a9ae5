"""Power cuts: of what was acknowledged nothing is lost, whatever of the unsynced writes reached the disk.

    python -m tests.service.faults.power_cuts --cuts 600
    python -m tests.service.faults.power_cuts --cuts 60 --plant early      # acknowledges before it commits
    python -m tests.service.faults.power_cuts --cuts 60 --plant normal     # commits with synchronous=NORMAL

Both planted faults must be caught.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from tests.service.faults.power_cut_vfs import PowerCutVFS

from stumpery.errors import StumperyError
from stumpery.service.engine.deciding import decide
from stumpery.service.engine.journal import Journal
from stumpery.service.engine.messages import DecideRequest
from stumpery.service.engine.rewarding import RewardRequest, reward
from stumpery.service.events import PolicyCreated
from stumpery.service.log.sqlite_log import SqliteLog
from stumpery.service.replica.site_replica import SiteReplica
from stumpery.service.settings import LimitSettings, PolicySettings

GROUPS, CUTS_IN_A_RUN = 120, 20
CHECKPOINT_PAGES = 30  # so that checkpoints are cut, too


class Run:
    """One run of events through a journal, with images of the disk at random moments."""

    def __init__(self, folder, seed, plant):
        self.rng, self.plant = np.random.default_rng(seed), plant
        self.name = f"power cuts {seed} {plant}"
        self.vfs = PowerCutVFS(self.name)
        synchronous = "NORMAL" if plant == "normal" else "FULL"
        self.log = SqliteLog(folder / "log.sqlite", vfs=self.name, synchronous=synchronous)
        self.log._connection.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}").fetchall()
        self.acknowledged, self.cuts, self.n_changes = [], [], 0
        self.vfs.before_change = self.before_change

    def before_change(self):
        self.n_changes += 1
        if self.rng.random() < 0.03 and len(self.cuts) < CUTS_IN_A_RUN:
            self.cuts.append((self.vfs.image(int(self.rng.integers(2**31))), len(self.acknowledged)))

    def go(self):
        journal = Journal(self.log, SiteReplica())
        journal.read_clock()
        rows = [journal.add("default", None, PolicyCreated(PolicySettings(actions=("a", "b"), kind="UCB")))]
        self.commit(journal, rows)
        for group in range(GROUPS):
            self.commit(journal, self.some_events(journal, group))
        self.log.close()

    def some_events(self, journal, group):
        limits, first = LimitSettings(), journal.next_number
        for each in range(int(self.rng.integers(1, 6))):
            event = f"{group}-{each}"
            decide(
                journal,
                limits,
                "default",
                DecideRequest(event_id=event, context={"x": "y" * int(self.rng.integers(1_500))}),
            )
            if self.rng.random() < 0.5:
                reward(journal, limits, "default", RewardRequest(event_id=event, value=1.0))
        return [row for row in journal._rows if row.number >= first]

    def commit(self, journal, rows):
        if self.plant == "early":
            self.acknowledged += rows
            journal.commit()
        else:
            journal.commit()
            self.acknowledged += rows


def is_kept(folder, image, acknowledged, written):
    """Whether a log opens after a cut, holds what was acknowledged, and nothing but what was written."""
    for path, content in image.items():
        (folder / Path(path).name).write_bytes(content)
    try:
        log = SqliteLog(folder / "log.sqlite")
    except StumperyError:
        return False
    try:
        rows = list(log.rows())
    except StumperyError:
        return False
    finally:
        log.close()
    return len(rows) >= acknowledged and rows == written[: len(rows)]


def cuts(n, plant, seed):
    """So many power cuts; how many lost an acknowledged event."""
    n_cuts = n_lost = n_acknowledged = 0
    while n_cuts < n:
        with tempfile.TemporaryDirectory() as folder:
            run = Run(Path(folder), seed + n_cuts, plant)
            run.go()
            for image, acknowledged in run.cuts[: n - n_cuts]:
                with tempfile.TemporaryDirectory() as after:
                    n_lost += not is_kept(Path(after), image, acknowledged, run.acknowledged)
                n_acknowledged += acknowledged
                n_cuts += 1
    return {"cuts": n_cuts, "acknowledged": n_acknowledged, "lost": n_lost}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cuts", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plant", choices=["early", "normal"])
    options = parser.parse_args()
    result = cuts(options.cuts, options.plant, options.seed)
    print(json.dumps(result))
    return int(result["lost"] > 0)


if __name__ == "__main__":
    sys.exit(main())
