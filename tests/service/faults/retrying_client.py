"""Clients that send a decision to one process and its reward to another, and send again what was not answered."""

import http.client
import json
import threading
import time
from itertools import count

import numpy as np

N_CLIENTS = 3
POLICY = "/v1/policies/default"


class Load:
    """Clients in threads, which pause and go on together."""

    def __init__(self, processes, seed):
        self.running, self.ended = threading.Event(), threading.Event()
        self.clients = [Client(self, processes, f"{seed}-{each}") for each in range(N_CLIENTS)]

    def __enter__(self):
        for client in self.clients:
            client.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.running.set()
        for client in self.clients:
            client.join()

    def go_on(self):
        self.running.set()

    def pause(self):
        """Stop the clients between two decisions."""
        self.running.clear()
        while not all(client.is_idle or not client.is_alive() for client in self.clients):
            time.sleep(0.01)
        errors = [client.error for client in self.clients if client.error]
        if errors:
            raise errors[0]

    def answered(self):
        return {each for client in self.clients for each in client.answered}

    @property
    def n_elsewhere(self):
        return sum(client.n_elsewhere for client in self.clients)

    @property
    def n_contradictions(self):
        return sum(client.n_contradictions for client in self.clients)


class Client(threading.Thread):
    """Decides and rewards, and remembers what was answered."""

    def __init__(self, load, processes, label):
        super().__init__(daemon=True)
        self.load, self.processes, self.label = load, processes, label
        self.answered, self.connections = [], {}
        self.is_idle = True
        self.error = None
        self.n_elsewhere = self.n_contradictions = 0
        self.rng = np.random.default_rng(list(label.encode()))

    def run(self):
        try:
            step = 0
            while not self.load.ended.is_set():
                self.is_idle = not self.load.running.is_set()
                if self.load.running.wait(0.1) and not self.load.ended.is_set():
                    self.is_idle = False
                    self.one(f"{self.label}-{step}")
                    step += 1
        except Exception as error:  # shown by `pause`
            self.error = error
        finally:
            self.is_idle = True

    def one(self, event):
        """A decision at one process, and its reward at another."""
        rng = self.rng
        context = {"hour": int(rng.integers(24)), "device": "abc"[rng.integers(3)], "x": rng.random()}
        decision, port = self.post("decide", {"event_id": event, "context": context}, None)
        self.answered.append((event, "decision", decision["action"], decision["probability"]))
        if rng.random() < 0.7:
            value = float(rng.random() < 0.5)
            answer, other = self.post("reward", {"event_id": event, "value": value}, port)
            self.n_elsewhere += other != port
            if answer is not None:
                self.answered.append((event, "reward", value))

    def post(self, verb, body, other_than):
        """The answer, and the port of the process that gave it; another one is asked where there was none."""
        for attempt in count():
            ports = [process.port for process in list(self.processes.values()) if process.is_decider]
            elsewhere = [port for port in ports if port != other_than or attempt] or ports
            port = elsewhere[self.rng.integers(len(elsewhere))]
            status, answer = self.sent(port, verb, body)
            if status == 200 and not answer.get("fallback"):
                return answer, port
            if status in (404, 409):  # what was acknowledged is not known
                self.n_contradictions += 1
                return None, port
            if status not in (0, 200, 429, 503):
                raise RuntimeError(f"{verb} was answered with {status}: {answer}")
            if self.load.ended.is_set():
                raise TimeoutError(f"{verb} of {body['event_id']} was not answered to the end")
            time.sleep(0.02)
        raise AssertionError

    def sent(self, port, verb, body):
        connection = self.connections.setdefault(port, http.client.HTTPConnection("127.0.0.1", port, timeout=20))
        try:
            connection.request("POST", f"{POLICY}/{verb}", json.dumps(body))
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            connection.close()
            return 0, None
