"""Schemathesis over the description of the interface: no request leads to an error of the server, and answers are those
described; `--max-examples 1000` of the same command is the long form.
"""

import os
import re
import signal
import subprocess
import sys
from importlib.util import find_spec

import pytest

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
DEFAULT_POLICY = '[parameters]\n"path.name" = "default"\n'
pytestmark = pytest.mark.skipif(find_spec("schemathesis") is None, reason="schemathesis is not installed")


@pytest.fixture
def address(tmp_path):
    """A site in a process of its own."""
    command = [sys.executable, "-m", "stumpery", "serve", "--actions", "a,b", "--port", "0", "--folder", tmp_path / "s"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield re.search(r"http://\S+", server.stdout.readline())[0]
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)


def explored(address, folder, configuration, *options):
    """What schemathesis says of the interface, and its exit status."""
    (folder / "schemathesis.toml").write_text(configuration)
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "run"]
    command += [f"{address}/openapi.json", "--checks", CHECKS, "--no-color", "--seed", "1", *options]
    environment = os.environ | {"PYTHONWARNINGS": "default"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=550, check=False
    )
    return done.stdout, done.returncode


@pytest.mark.parametrize(
    ("configuration", "options"),
    [
        (DEFAULT_POLICY, ["--exclude-method", "DELETE", "--phases", "fuzzing", "--max-examples", "10"]),
        ("", ["--phases", "coverage"]),
    ],
    ids=["a policy that exists", "any policy"],
)
def test_no_described_request_is_an_error_of_the_server(address, tmp_path, configuration, options):
    told, status = explored(address, tmp_path, configuration, *options)
    assert status == 0, told
    n_tested = int(re.search(r"Tested: (\d+)", told)[1])
    assert n_tested == 20 - 2 * bool(configuration)
    assert int(re.search(r"(\d+) generated", told)[1]) > 5 * n_tested
