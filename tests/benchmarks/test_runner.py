import json

import pytest

from stumpery.benchmarks import contextual, contextual_peers, covertype, run_benchmarks, selection, start
from stumpery.benchmarks.runner import Benchmark, measure


def counted(values):
    """A workload that gives these values in turn, and the list of calls so far."""
    calls = []

    def run():
        calls.append(values[len(calls)])
        return calls[-1]

    return run, calls


def test_the_medians_of_both_count_and_the_first_run_of_each_does_not():
    ours, calls = counted([99.0, 4.0, 2.0, 3.0])
    theirs, their_calls = counted([99.0, 1.0, 2.0, 1.5])
    line = measure(Benchmark(name="a", unit="events/s", ours=ours, peer=theirs, peer_name="peer"), 3)
    assert line == {
        "name": "a",
        "unit": "events/s",
        "better": "higher",
        "ours": 3.0,
        "peer": 1.5,
        "peer_name": "peer",
        "ratio": 2.0,
        "runs": [4.0, 2.0, 3.0],
        "peer_runs": [1.0, 2.0, 1.5],
    }
    assert len(calls) == len(their_calls) == 4


@pytest.mark.parametrize(
    ("unit", "better"),
    [("events/s", "higher"), ("s", "lower"), ("us", "lower"), ("bytes", "lower"), ("reward", "higher")],
)
def test_rates_are_better_when_higher_and_costs_when_lower(unit, better):
    line = measure(Benchmark(name="a", unit=unit, ours=lambda: 1.0, peer=2.0, peer_name="target"), 1)
    assert (line["better"], line["ratio"]) == (better, 0.5)


def test_a_peer_that_is_not_installed_is_null_and_never_run():
    def never():
        raise AssertionError

    benchmark = Benchmark(name="a", unit="s", ours=lambda: 1.0, peer=never, peer_name="peer", needs="no_such_module")
    line = measure(benchmark, 2)
    assert (line["ours"], line["peer"], line["ratio"]) == (1.0, None, None)
    assert line["peer_name"] == "peer; no_such_module is not installed"


def test_a_long_run_is_made_once():
    ours, calls = counted([7.0])
    line = measure(Benchmark(name="a", unit="s", ours=ours, peer=14.0, peer_name="target", is_slow=True), 5)
    assert (line["ours"], line["ratio"], calls) == (7.0, 0.5, [7.0])


def test_all_figures_have_names_of_their_own():
    with pytest.raises(ValueError, match="no benchmark's name contains") as error:
        next(run_benchmarks(only="nonsense"))
    names = str(error.value).partition("there are ")[2].split(", ")
    assert len(set(names)) == len(names) > 10


def test_a_line_is_json():
    line = json.loads(next(run_benchmarks(only="start/help", repeats=1)))
    assert line["name"] == "start/help"
    assert line["ours"] > 0


@pytest.fixture
def made_up(monkeypatch, tmp_path):
    """Covertype is nowhere, and the rows in its place are few."""
    monkeypatch.setenv("STUMPERY_CACHE", str(tmp_path))
    monkeypatch.delenv("STUMPERY_DATA", raising=False)
    monkeypatch.setattr(covertype, "N_ROWS", 2000)
    rows = (covertype.frame, covertype.wide, covertype.raw, covertype.bits, covertype.standardised)
    caches = (*rows, contextual_peers.text_lines)
    for each in caches:
        each.cache_clear()
    yield
    for each in caches:
        each.cache_clear()


def test_made_up_rows_have_the_shape_of_covertype(made_up):
    assert covertype.frame().shape == (2000, 55)
    assert covertype.raw(500).contexts.shape == (500, 12)
    assert covertype.bits(500).contexts.shape == (500, 94)
    assert covertype.standardised(500).contexts.shape == (500, 54)
    assert (covertype.raw(500).rewards.sum(axis=1) == 1).all()


def test_text_lines_hold_numbers_names_and_set_bits(made_up):
    line = contextual_peers.text_lines(covertype.raw, 10)[0].split()
    assert line[0] == "|"
    assert len(line) == 1 + 12
    assert line[1].startswith("number_0:")
    assert line[-1].startswith("soil=soil_")
    bits = contextual_peers.text_lines(covertype.bits, 10)[0].split()
    assert len(bits) == 1 + covertype.bits(10).contexts[0].sum()


def test_the_compiled_loop_is_timed_on_these_rows(made_up):
    assert contextual.compiled(contextual.LinUCB, covertype.standardised, 200)() > 0


def test_selection_is_measured_where_no_dataset_is_there_too(monkeypatch, tmp_path):
    monkeypatch.setenv("STUMPERY_DATA", str(tmp_path))
    monkeypatch.setenv("STUMPERY_CACHE", str(tmp_path))
    selection.events.cache_clear()
    rows, labels, order = selection.events()
    selection.events.cache_clear()
    assert rows.shape == (selection.N_SELECTION_EVENTS, selection.N_FEATURES)
    assert set(labels.tolist()) == {-1, 1}
    assert len(order) == len(rows)


@pytest.mark.parametrize("policy", start.CONTEXTUAL)
def test_the_first_decision_of_each_policy_can_be_timed(policy):
    exec(start.FIRST_CONTEXTUAL_ANSWER.format(policy))  # noqa: S102 - our own text
