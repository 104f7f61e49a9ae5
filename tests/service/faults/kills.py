"""Kill -9 under load: no acknowledged event is lost, and a rebuild has equal bits.

    python -m tests.service.faults.kills --kills 300
    python -m tests.service.faults.kills --kills 30 --plant     # answers before it commits: must be caught

Each round forks a server, sends decisions and rewards from several threads, kills the server at a random moment, and
looks in the log for every event that was answered. Every round begins with the state that the killed one left: it is
compared with a rebuild from the whole log.
"""

import argparse
import http.client
import json
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from stumpery.service import server
from stumpery.service.engine import answers as answering
from stumpery.service.engine import engine as engines
from stumpery.service.events import DecisionMade, RewardCame, decoded
from stumpery.service.log.opening import open_log
from stumpery.service.replica.models import new_model
from stumpery.service.replica.site_replica import SiteReplica
from stumpery.service.settings import PolicySettings, SiteSettings

N_CLIENTS = 4
POLICY = "/v1/policies/default"
OPTIONS = {"n_trees": 2, "max_bytes": 4_000_000}
READY_S = 60


class AnswersTooEarly(engines.Engine):
    """A planted fault: answers leave before their events are committed."""

    def _answers(self, group):
        answers = super()._answers(group)
        answering.send(answers)
        time.sleep(0.003)
        return answers


class Client(threading.Thread):
    """Decides and rewards until the server is gone, and remembers what was answered."""

    def __init__(self, port, name):
        super().__init__()
        self.port, self.label, self.answered = port, name, []

    def run(self):
        rng = np.random.default_rng(list(self.label.encode()))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            for step in range(1_000_000):
                event = f"{self.label}-{step}"
                context = {"hour": int(rng.integers(24)), "device": "abc"[rng.integers(3)], "x": rng.random()}
                decision = self.post(connection, "decide", {"event_id": event, "context": context})
                self.answered.append((event, "decision", decision["action"]))
                if rng.random() < 0.7:
                    value = float(rng.random() < 0.5)
                    self.post(connection, "reward", {"event_id": event, "value": value})
                    self.answered.append((event, "reward", value))
        except (OSError, http.client.HTTPException, ValueError):
            pass
        finally:
            connection.close()

    def post(self, connection, verb, body):
        connection.request("POST", f"{POLICY}/{verb}", json.dumps(body))
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            sys.exit(f"{verb} was answered with {answer.status}: {content.decode()}")
        return json.loads(content)


def fork_server(settings, planted):
    """A server in a forked process; its id and its port."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        with os.fdopen(reader) as announced:
            line = announced.readline()
        return child, int(line.rpartition(":")[2])
    try:
        if planted:
            server.Engine = AnswersTooEarly
        server.serve(settings, lambda address: os.write(writer, f"{address}\n".encode()))
    finally:
        os._exit(0)


def warm_up(policy):
    """Load the kernels once, so that forked servers have them."""
    model = new_model(policy)
    context = {"hour": 1, "device": "a", "x": 0.5}
    decisions = [model.decide(context) for _ in range(50)]
    model.learn(decisions[0], 1.0)
    model.learn_many(decisions, [1.0] * 50)
    model.probabilities(context)


def digest_of_server(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=READY_S)
    connection.request("GET", "/v1/digest")
    found = json.loads(connection.getresponse().read())
    connection.close()
    return found["number"], found["digest"]


def logged(settings, number):
    """What is in the log, by id and kind, and the digest of a rebuild from its first rows."""
    log = open_log(settings)
    rows = list(log.rows())
    log.close()
    found = set()
    for row in rows:
        event = decoded(row.content)
        if isinstance(event, DecisionMade):
            found.add((row.event, "decision", event.action))
        elif isinstance(event, RewardCame):
            found.add((row.event, "reward", event.value))
    replica = SiteReplica()
    replica.replay(rows[:number])
    return found, replica.digest(), len(rows)


def rounds(folder, kills, planted, seed, database=None):
    """Kill a server so many times; the numbers of answered, lost and differing ones."""
    rng = np.random.default_rng(seed)
    policy = PolicySettings(actions=("news", "sport", "film"), options=OPTIONS, wait_s=0.5)
    warm_up(policy)
    settings = SiteSettings(
        folder=str(folder), port=0, name="one", policies={"default": policy}, snapshot_events=400, database=database
    )
    n_answered = n_lost = n_different = n_rows = 0
    for kill in range(kills):
        child, port = fork_server(settings, planted)
        number, digest = digest_of_server(port)
        clients = [Client(port, f"{kill}-{each}") for each in range(N_CLIENTS)]
        for client in clients:
            client.start()
        time.sleep(rng.uniform(0.05, 0.3))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for client in clients:
            client.join()
        found, rebuilt, n_rows = logged(settings, number)
        n_different += digest != rebuilt
        answered = {each for client in clients for each in client.answered}
        n_answered += len(answered)
        n_lost += len(answered - found)
    return {"kills": kills, "answered": n_answered, "lost": n_lost, "different": n_different, "rows": n_rows}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", help="postgresql://... with an empty database")
    parser.add_argument("--plant", action="store_true", help="answer before the commit")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = rounds(Path(folder) / "site", options.kills, options.plant, options.seed, options.database)
    print(json.dumps(result))
    return int(result["lost"] > 0 or result["different"] > 0)


if __name__ == "__main__":
    sys.exit(main())
