"""Executors: threads, processes and a Ray cluster give the same results, also when processes and nodes are killed."""

import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.jobs import tasks

import stumpery as st
from stumpery import jobs
from stumpery.jobs.executor import ProgressCounts, check_executor, in_order
from stumpery.jobs.worker_process import WorkerProcess

SOURCE = Path(st.__file__).parent


def test_a_map_gives_each_result_with_its_position_and_counts_all_work(executor):
    done = []
    results = dict(executor.map(tasks.doubled, range(40), progress=done.append))
    assert results == {number: 2 * number for number in range(40)}
    assert sum(done) == sum(range(40))


def test_a_map_of_nothing_is_empty(executor):
    assert list(executor.map(tasks.doubled, [])) == []


def test_a_partial_of_a_function_is_mapped(executor):
    add = partial(tasks.sum_of, 10)
    assert in_order(executor.map(add, [1, 2, 3])) == [11, 12, 13]


def test_arguments_are_read_as_workers_become_free(executor):
    read = []

    def numbers():
        for number in range(1000):
            read.append(number)
            yield number

    results = executor.map(tasks.doubled, numbers())
    next(results)
    assert len(read) <= executor.n_workers + 1
    results.close()


def test_an_exception_of_the_function_is_raised_and_the_executor_works_on(executor):
    with pytest.raises(ValueError, match="three is one too many"):
        list(executor.map(tasks.failing, range(10)))
    assert in_order(executor.map(tasks.doubled, [4])) == [8]


def test_a_value_is_put_once_and_read_by_all(executor):
    shared = executor.put(np.arange(1000.0))
    assert in_order(executor.map(tasks.total_of, [(n, shared) for n in range(5)])) == [n * 499500.0 for n in range(5)]


def test_an_actor_keeps_its_state_and_raises_its_exceptions(executor):
    actor = executor.actor(tasks.Counter, 5)
    assert [actor.call("add", n) for n in (1, 2)] == [6, 8]
    with pytest.raises(ValueError, match="not this one"):
        actor.call("fail")
    assert actor.call("add", 1) == 9
    assert actor.call("sum_of", executor.put([1.0, 2.5])) == 3.5
    actor.stop()
    with pytest.raises(jobs.WorkerLost):
        actor.call("add", 1)


@pytest.mark.parametrize("kind", ["two_processes", "local_cluster"])
def test_work_whose_process_is_killed_is_done_again_and_counted_once(request, kind, tmp_path):
    made = request.getfixturevalue(kind)
    executor = made[1] if kind == "local_cluster" else made
    done = []
    paths = [str(tmp_path / f"{place}") for place in range(3)]
    results = in_order(executor.map(tasks.killed_once, paths, progress=done.append))
    assert results == ["done"] * 3
    assert sum(done) == 30
    assert in_order(executor.map(tasks.doubled, [1, 2])) == [2, 4]


@pytest.mark.parametrize("kind", ["two_processes", "local_cluster"])
def test_work_that_always_kills_its_process_is_given_up(request, kind):
    made = request.getfixturevalue(kind)
    executor = made[1] if kind == "local_cluster" else made
    with pytest.raises(jobs.WorkerLost):
        list(executor.map(tasks.killed, [1]))


@pytest.mark.parametrize("kind", ["two_processes", "local_cluster"])
def test_an_actor_whose_process_is_killed_is_lost(request, kind):
    made = request.getfixturevalue(kind)
    executor = made[1] if kind == "local_cluster" else made
    actor = executor.actor(tasks.Counter, 5)
    os.kill(actor.call("pid"), signal.SIGKILL)
    with pytest.raises(jobs.WorkerLost):
        actor.call("add", 1)
    actor.stop()


def test_an_idle_process_that_is_killed_is_replaced():
    with jobs.Processes(1) as executor:
        (pid,) = in_order(executor.map(tasks.process_of, [0]))
        os.kill(pid, signal.SIGKILL)
        (other,) = in_order(executor.map(tasks.process_of, [0]))
    assert other != pid


def test_processes_end_with_their_executor():
    with jobs.Processes(2) as executor:
        pids = in_order(executor.map(tasks.process_of, range(4)))
        pids.append(executor.actor(tasks.Counter, 5).call("pid"))
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_what_cannot_be_sent_is_refused_in_a_sentence(two_processes):
    with pytest.raises(st.InvalidInput, match="cannot be sent to another process"):
        list(two_processes.map(lambda number, advance: number, [1]))
    with pytest.raises(st.InvalidInput, match="the UnreadableError of a worker cannot be sent"):
        list(two_processes.map(tasks.raising_unreadable, [1]))
    assert in_order(two_processes.map(tasks.doubled, [4])) == [8]


def test_when_a_node_is_killed_its_work_is_done_by_another(local_cluster):
    cluster, executor = local_cluster
    results = executor.map(tasks.doubled, [20_000] * 30)
    first = next(results)
    cluster.kill_node()
    assert sorted([first, *results]) == [(position, 40_000) for position in range(30)]
    cluster.add_node()


def test_progress_is_reported_once_however_often_work_begins():
    done = []
    counts = ProgressCounts(done.append)
    for total in (5, 9, 2, 9, 12):
        counts.update(3, total)
    assert done == [5, 4, 3]


@pytest.mark.parametrize("given", [None, 4, jobs.Processes, "ray"])
def test_what_is_no_executor_is_refused(given):
    with pytest.raises(st.InvalidInput, match=r"executor is .*; it must be one, such as stumpery.jobs.Processes"):
        check_executor(given)


@pytest.mark.parametrize("kind", [jobs.Threads, jobs.Processes])
def test_a_number_of_workers_is_checked(kind):
    with pytest.raises(st.InvalidInput, match="n is 0; it must be a whole number of 1 or more"):
        kind(0)
    assert kind(3).n_workers == 3


@pytest.mark.parametrize("address", ["127.0.0.1:9", "nonsense"])
def test_an_address_without_a_cluster_is_refused_in_a_sentence(address):
    program = f"import stumpery as st; st.jobs.RayCluster({address!r})"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert f"ConnectionError: there is no Ray cluster at '{address}': " in answer.stderr


def test_one_file_names_ray():
    names = re.compile(r"""import ray\b|["']ray["']|from ray\b""")
    found = [path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if names.search(path.read_text())]
    assert found == ["jobs/ray_cluster.py"]


def test_a_worker_that_another_thread_has_ended_is_lost():
    worker = WorkerProcess()
    worker.end(at_once=True)
    with pytest.raises(jobs.WorkerLost, match=f"the process {worker.pid} is gone"):
        worker.receive()


def test_several_threads_may_stop_an_actor():
    """As when a key interrupts the thread that waits for others, which stop their actors themselves."""
    with jobs.Processes(1) as processes:
        for _ in range(3):
            actor = processes.actor(list, [3])
            with ThreadPoolExecutor(4) as pool:
                for stopped in [pool.submit(actor.stop) for _ in range(4)]:
                    assert stopped.result() is None
        worker = WorkerProcess()
        worker.end(at_once=True)
        worker.end(at_once=True)
