"""Fuzz saved models: change numbers of a trained model's state, and see that it is refused or still works.

    python tests/fuzz_files.py                        # every kind, 40 changes each
    python tests/fuzz_files.py --cases 5000 UCB       # more of them, of one kind
    python tests/fuzz_files.py --seed 7 --first 12 --cases 1 UCB   # one case again
    STUMPERY_BOUNDS_CHECK=1 python tests/fuzz_files.py    # an index beyond an array's end is a failure, too

Cases run in child processes, which a case that hangs or crashes takes down; the next child goes on behind it.
"""

import argparse
import copy
import faulthandler
import json
import os
import subprocess
import sys
import tempfile
import traceback
import warnings
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

CASE_SECONDS = 60.0  # far more than any case takes: whoever needs longer hangs
REFUSALS = (ValueError, TypeError, AttributeError, KeyError, ArithmeticError)  # of which `load` makes ValueErrors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help="public classes, all that can be saved if none is named")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        run_cases(given.kinds, given.seed, range(given.first, given.first + given.cases))
        return 0
    failures = fuzz(given.kinds or all_kinds(), given.seed, range(given.first, given.first + given.cases))
    print(f"{len(failures)} failures" if failures else "every change was refused or harmless")
    return len(failures) > 0


def all_kinds():
    from tests.test_files import KINDS

    return KINDS


def fuzz(kinds, seed, cases, tell=print, **environment):
    """What failed, a text each; hangs and crashes are named by the case that was under way."""
    failures = []
    todo, first = list(kinds), cases.start
    while todo:
        now = todo if first == cases.start else todo[:1]
        span = ["--first", str(first), "--cases", str(cases.stop - first)]
        command = [sys.executable, __file__, "--child", "--seed", str(seed), *span, *now]
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, env={**os.environ, **environment}
            ) as child,
        ):
            running = ["", now[0], str(cases.stop - 1), "training"]
            for line in child.stdout:
                if line.startswith("FAILED "):
                    failures.append(line.removeprefix("FAILED ").rstrip())
                    tell(failures[-1], flush=True)
                else:
                    running = line.rstrip().split(maxsplit=3)
            child.wait()
            if child.returncode == 0:
                todo, first = todo[len(now) :], cases.start
                continue
            errors.seek(0)
            _, kind, case, change = running
            text = f"{kind} seed {seed} case {case}: {change}: hung or crashed\n{errors.read()[-3000:]}"
            failures.append(text)
            tell(text, flush=True)
            todo, first = todo[todo.index(kind) :], int(case) + 1
            if first >= cases.stop:
                todo, first = todo[1:], cases.start
    return failures


def run_cases(kinds, seed, cases):
    """Run the cases of some kinds in this process, each named before it begins."""
    import numpy as np

    warnings.simplefilter("ignore")  # overflows of absurd weights
    for kind in kinds:
        print("CASE", kind, cases.stop - 1, "training", flush=True)
        model = trained(kind)
        options, arrays = model.state()
        options = json.loads(json.dumps(options, default=float))
        arrays = {name: np.array(array) for name, array in arrays.items()}
        for case in cases:
            rng = np.random.default_rng([seed, case, zlib.crc32(kind.encode())])
            try:
                changed_options, changed, change = changed_state(rng, options, arrays)
            except IndexError:
                continue
            print("CASE", kind, case, change, flush=True)
            faulthandler.dump_traceback_later(CASE_SECONDS, exit=True)
            try:
                run_case(type(model), changed_options, changed, change)
            except BaseException:
                print("FAILED", f"{kind} seed {seed} case {case}: {change}: {last_of_trace()}", flush=True)
            faulthandler.cancel_dump_traceback_later()


def last_of_trace():
    """The exception under way, and where it was raised, in one line."""
    kind, error, trace = sys.exc_info()
    places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(trace)]
    return f"{kind.__name__}: {' '.join(str(error).split())[:200]} at {' '.join(places[-4:])}"


def run_case(kind, options, arrays, change):
    """Load a state, and use what it gives unless it is refused."""
    import stumpery as st
    from stumpery.types import State

    try:
        model = kind.from_state(State(options, arrays))
    except REFUSALS:
        return
    try:
        use_all(model)
    except ValueError:
        if change.startswith("option "):  # another recipe may refuse what this one took
            return
        raise
    with tempfile.TemporaryDirectory() as folder:
        st.save(model, Path(folder) / "model")


# Training.


def trained(kind):
    """A model that has grown what it can grow in a few hundred events."""
    import numpy as np
    from tests.test_files import BUILDERS, CONTEXTS, use

    import stumpery as st
    from stumpery.policies import ContextualPolicy

    model = BUILDERS[kind]()
    rng = np.random.default_rng(3)
    rows = [{**row, "age": row["age"] + float(rng.integers(0, 4)) / 4} for row in CONTEXTS * 4]
    if isinstance(model, ContextualPolicy):
        pays = [[row["device"] == "phone", row["age"] > 23, False] for row in rows]
        model.play(rows, np.array(pays, dtype=float))
    elif hasattr(model, "score_many"):
        model.learn_many(rows, [row["device"] == "phone" or row["age"] > 24 for row in rows])
    elif isinstance(model, st.ContentSelector):
        for start in range(0, 300, 3):
            decision = model.decide(rows[start : start + 3])
            model.learn(decision, click=decision.context["device"] == "phone")
    elif (
        hasattr(model, "learn_many")
        and hasattr(model, "predict_many")
        and not isinstance(model, st.reinforcement.PolicyTree)
    ):
        takes_clicks = any(hasattr(member, "score_many") for member in getattr(model, "members", ()))
        classes = [int(row["device"] == "phone") + int(row["age"] > 24) for row in rows]
        model.learn_many(rows, [min(each, 1) for each in classes] if takes_clicks else classes)
    elif hasattr(model, "fit"):
        model.fit(rows, [int(row["device"] == "phone") + int(row["age"] > 24) for row in rows])
    else:
        use(model)
    return model


def use_all(model):
    """A bounded number of calls of everything that a model can do."""
    from tests.test_files import ROWS, use

    import stumpery as st

    use(model, slice(0, 60))
    if hasattr(model, "decide") and hasattr(model, "reward_range"):
        from stumpery.policies import ContextualPolicy

        context = ROWS[1] if isinstance(model, ContextualPolicy) else None
        decision = model.decide(context)
        model.explain(decision)
        model.explain()
        model.learn(decision, model.reward_range[1])
    for name in ("to_text", "leaves"):
        if hasattr(model, name):
            getattr(model, name)()
    if isinstance(model, st.FeatureSelector):
        return
    for name in ("explain_one", "predict_one", "predict_proba_one", "contributions"):
        if hasattr(model, name):
            getattr(model, name)(ROWS[1])
    if hasattr(model, "decide_many") and not hasattr(model, "schema"):
        model.decide_many(20)
    if hasattr(model, "quantile") and model.count:
        model.histogram(3)
        model.rank(model.quantile(0.5))
    if hasattr(model, "add_action"):
        model.add_action("added")
        use_few(model)
        model.remove_action("added")
        use_few(model)


def use_few(model):
    from tests.test_files import ROWS

    for row in ROWS[:3]:
        decision = model.decide(row) if hasattr(model, "schema") else model.decide()
        model.learn(decision, 1.0 if not hasattr(model, "reward_range") else model.reward_range[0])


# Changes.


def changed_state(rng, options, arrays):
    """Options and arrays with a change, seldom two, and what it is in words."""
    options, arrays = copy.deepcopy(options), {name: array.copy() for name, array in arrays.items()}
    names = [name for name, array in arrays.items() if array.size]
    if options and (not names or rng.random() < 0.15):
        return options, arrays, change_option(rng, options)
    whole = [name for name in names if arrays[name].dtype.kind == "i"]  # places and counters lead kernels astray
    if whole and rng.random() < 0.5:
        names = whole
    changes = []
    for _ in range(1 + (rng.random() < 0.2)):
        name = names[rng.integers(len(names))]
        changes.append(f"{name} {change_array(rng, arrays[name])}")
    return options, arrays, " and ".join(changes)


def change_array(rng, array):
    """Change an array in place; give what was done."""
    import numpy as np

    flat = array.reshape(-1)
    if not np.shares_memory(flat, array):
        raise IndexError
    used = np.flatnonzero(flat.view(np.uint8).reshape(len(flat), -1).any(axis=1))
    pool = used if len(used) and rng.random() < 0.7 else np.arange(len(flat))
    place = int(pool[rng.integers(len(pool))])
    kind = rng.integers(10)
    if kind < 5:
        value = new_value(rng, flat, place)
        flat[place : place + 1] = value
        return f"[{place}] = {flat[place]!r}"
    if kind < 6:
        places = pool[rng.integers(0, len(pool), min(4, len(pool)))]
        for each in places.tolist():
            flat[each : each + 1] = new_value(rng, flat, each)
        return f"{places.tolist()} = {flat[places].tolist()}"
    if kind < 7:
        other = int(pool[rng.integers(len(pool))])
        flat[[place, other]] = flat[[other, place]]
        return f"[{place}] and [{other}] swapped"
    end = min(len(flat), place + int(rng.choice([2, 5, 20, 1000, len(flat)])))
    if kind < 8:
        flat[place:end] = rng.permutation(flat[place:end])
        return f"[{place}:{end}] permuted"
    if kind < 9 and array.ndim > 1:
        column, value = int(rng.integers(array.shape[-1])), new_value(rng, flat, place)
        array[..., column] = value
        return f"[..., {column}] = {value!r}"
    value = new_value(rng, flat, place)
    flat[place:end] = value
    return f"[{place}:{end}] = {value!r}"


def new_value(rng, flat, place):
    """Some value that an array of that type can hold."""
    import numpy as np

    if flat.dtype == np.bool_:
        return np.array(rng.random() < 0.5)
    old = flat[place]
    if flat.dtype.kind == "f":
        info = np.finfo(flat.dtype)
        choices = [0.0, -1.0, 1.0, np.nan, np.inf, -np.inf, info.max, -info.max, info.tiny, 0.5, 2.0, 1e6, -1e6]
        choices += [old + 1, old - 1, -old, old * 2, flat[rng.integers(len(flat))], float(rng.integers(0, 50))]
    else:
        info = np.iinfo(flat.dtype)
        choices = [0, -1, 1, 2, info.max, info.min, int(old) + 1, int(old) - 1, int(old) ^ 1, int(old) * 2, -int(old)]
        choices += [int(flat[rng.integers(len(flat))]), int(rng.integers(0, 50)), int(rng.integers(0, len(flat) + 1))]
        choices += [int(old) ^ (1 << int(rng.integers(8 * flat.dtype.itemsize)))]
        choices = [int(value) % (int(info.max) - int(info.min) + 1) for value in choices]
        choices = [value - (int(info.max) - int(info.min) + 1) if value > info.max else value for value in choices]
    with np.errstate(all="ignore"):
        return np.array(choices[rng.integers(len(choices))], dtype=flat.dtype)


def change_option(rng, options):
    """Change one leaf of the options in place; give what was done."""
    paths = list(leaves_of(options, ()))
    path = paths[rng.integers(len(paths))]
    inside = options
    for step in path[:-1]:
        inside = inside[step]
    old = inside[path[-1]]
    if isinstance(old, bool) or old is None or isinstance(old, str):
        choices = [True, False, None, "x", "", 3, [], {}, f"{old}x"]
    elif isinstance(old, int | float):
        choices = [0, -1, 1, 2, 3, 10, old + 1, old - 1, old * 2, old * 1000, 2**31, 2**40, 2**62, 0.5, None, "x", True]
    elif isinstance(old, list):
        choices = [[], old[:-1], old + old[-1:], old[::-1], old * 100, [old], None, 3]
    else:
        keys = list(old)
        dropped = {key: value for key, value in old.items() if not keys or key != keys[rng.integers(len(keys))]}
        choices = [{}, None, [], dropped]
    inside[path[-1]] = choices[rng.integers(len(choices))]
    return f"option {'.'.join(map(str, path))} = {json.dumps(inside[path[-1]])[:100]}"


def leaves_of(thing, path):
    """The paths of all values within options."""
    if path:
        yield path
    for key, value in thing.items() if isinstance(thing, dict) else enumerate(thing) if isinstance(thing, list) else ():
        yield from leaves_of(value, (*path, key))


if __name__ == "__main__":
    sys.exit(main())
