"""A PostgreSQL server of its own for a test, as a user that is not root."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

BINARIES = [
    Path(name) for name in (shutil.which("postgres"), *Path("/usr/lib/postgresql").glob("*/bin/postgres")) if name
]


class PostgresqlServer:
    """A server that listens on a socket in its folder alone."""

    def __init__(self, folder):
        self.folder, self.process = folder, None
        self.binaries = Path(os.path.realpath(BINARIES[0])).parent
        if not (self.binaries / "initdb").exists():
            self.binaries = next(path.parent for path in BINARIES if path.with_name("initdb").exists())
        self.user = {"user": "nobody"} if os.geteuid() == 0 else {}
        if self.user:
            shutil.chown(folder, pwd.getpwnam("nobody").pw_uid)
        command = [self.binaries / "initdb", "-D", folder / "data", "-A", "trust", "-U", "postgres", "--no-locale"]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, **self.user)

    @property
    def address(self):
        return f"postgresql://postgres@/postgres?host={self.folder}"

    def start(self):
        command = [self.binaries / "postgres", "-D", self.folder / "data", "-k", self.folder, "-c", "listen_addresses="]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, cwd=self.folder, **quiet, **self.user)
        ready = [self.binaries / "pg_isready", "-q", "-h", self.folder, "-U", "postgres"]
        for _ in range(600):
            if subprocess.run(ready, check=False).returncode == 0:
                return
            time.sleep(0.05)
        raise TimeoutError("PostgreSQL did not start")

    def kill(self):
        """Stop at once, as a crash does."""
        self.process.send_signal(3)  # SIGQUIT: immediate shutdown
        self.process.wait()

    def kill_9(self):
        """Kill the server's first process; its others end when they notice."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        self.process.kill()
        self.process.wait()
        while any(Path(f"/proc/{child}/cwd").exists() for child in children):
            time.sleep(0.01)


@contextmanager
def postgresql_server():
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp", ignore_cleanup_errors=True) as folder:
        server = PostgresqlServer(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.kill()
