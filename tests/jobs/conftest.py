"""A real Ray cluster of two nodes on this machine, in a folder of its own, for the tests that need one."""

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from stumpery import jobs

ROOT = Path(__file__).parents[2]
MEMORY = 80 * 2**20  # of a node's object store


class LocalCluster:
    """Two nodes of a Ray cluster, each with one core; the first one also has the cluster's tables."""

    def __init__(self, folder):
        from ray.cluster_utils import Cluster

        self._variables = {
            "RAY_TMPDIR": folder,
            "RAY_USAGE_STATS_ENABLED": "0",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),  # workers import the functions of tests
        }
        quick = {"health_check_period_ms": 500, "health_check_timeout_ms": 15_000, "health_check_failure_threshold": 3}
        head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": MEMORY, "_system_config": quick}
        with self._environment():
            self.cluster = Cluster(initialize_head=True, head_node_args=head)
        self.others = []
        self.add_node()

    @contextmanager
    def _environment(self):
        """The variables that the processes of a node inherit."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self._variables.items():
                patch.setenv(name, value)
            yield

    @property
    def address(self):
        return self.cluster.address

    def add_node(self):
        with self._environment():
            self.others.append(self.cluster.add_node(num_cpus=1, object_store_memory=MEMORY))
        self.cluster.wait_for_nodes()

    def kill_node(self):
        """Kill all processes of the last node at once, as a power cut does."""
        self.cluster.remove_node(self.others.pop(), allow_graceful=False)


@pytest.fixture(scope="session")
def local_cluster():
    folder = tempfile.mkdtemp(prefix="ray-")  # the paths of its sockets must be short
    made = LocalCluster(folder)
    executor = jobs.RayCluster(made.address)
    yield made, executor
    executor.close()
    made.cluster.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def two_processes():
    with jobs.Processes(2) as executor:
        yield executor


@pytest.fixture(params=["threads", "processes", "ray"])
def executor(request):
    if request.param == "ray":
        return request.getfixturevalue("local_cluster")[1]
    return jobs.Threads(2) if request.param == "threads" else request.getfixturevalue("two_processes")
