"""A server in a process of its own that may be killed, also one with a planted fault."""

import http.client
import json
import signal
import subprocess
import sys
import time

from stumpery.service import server
from stumpery.service.engine import deciding
from stumpery.service.engine.answers import send
from stumpery.service.engine.engine import Engine
from stumpery.service.settings import read_site, site_of

SITE = """
port = 0
snapshot_events = 2000
[policies.default]
actions = ["news", "sport", "film"]
wait_s = 0.5
options = { n_trees = 2, max_bytes = 4000000 }
"""
WAIT_S = 120.0


class ServerProcess:
    """A process of a site: started, asked, killed."""

    def __init__(self, name, role, folder, log, plant=None):
        folder.mkdir(exist_ok=True)
        path = folder / "site.toml"
        if not path.exists():
            path.write_text(f'folder = "."\n{SITE}')
        program = ["stumpery", "serve"] if plant is None else [__name__, plant]
        command = [
            sys.executable,
            "-m",
            *program,
            path,
            "--name",
            name,
            "--role",
            role,
            *(["--log", log] if log else []),
        ]
        errors = (folder / f"{name}.log").open("ab")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        errors.close()
        line = self.process.stdout.readline()
        if "http://" not in line:
            raise RuntimeError(f"{name} did not start: {(folder / f'{name}.log').read_text()[-2000:]}")
        self.name, self.is_decider = name, role != "learner"
        self.port = int(line.partition("http://")[2].split()[0].rpartition(":")[2])

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()

    def digest(self):
        status, body = self.get("/v1/digest")
        found = json.loads(body) if status == 200 else None
        return found and (found["number"], found["digest"])

    def leads(self):
        status, body = self.get("/v1/replicas")
        return status == 200 and any(each["is_self"] and each["is_leader"] for each in json.loads(body))

    def wait_until(self, condition):
        end = time.monotonic() + WAIT_S
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"{self.name} was not back within {WAIT_S:g} s")
            time.sleep(0.02)

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)


class AnswersTooEarly(Engine):
    """A planted fault: answers leave before their events are committed."""

    def _answers(self, group):
        answers = super()._answers(group)
        send(answers)
        if group:
            time.sleep(0.1)
        return answers


def main(plant, path, *options):
    """Serve with a planted fault."""
    if plant == "early":
        server.Engine = AnswersTooEarly
    else:
        explored = deciding.explored
        deciding.explored = lambda own, share: explored(own, share * 1.01)
    given = dict(zip((each.removeprefix("--") for each in options[::2]), options[1::2], strict=True))
    assert read_site(path)
    server.serve(site_of(path, **given), lambda address: print(f"stumpery serves {address}", flush=True))


if __name__ == "__main__":
    from pathlib import Path

    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
