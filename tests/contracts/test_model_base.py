"""What every public model has from the base of all models; a new model is found here by itself."""

import copy
import pickle
from dataclasses import fields

import numpy as np
import pytest
from tests.support import bits_of, public, refused
from tests.test_files import ACTIONS, BUILDERS, KINDS, SCHEMA, use

import stumpery as st
from stumpery.models import Model
from stumpery.saving.saveable import Saveable

MODELS = [kind for kind in KINDS if issubclass(getattr(public, kind), Model)]
SEEDED = [kind for kind in MODELS if "seed" in getattr(public, kind).__dataclass_fields__]


def same(one, other):
    return bits_of(one) == bits_of(other)


DUPLICATES = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda model: pickle.loads(pickle.dumps(model))}  # noqa: S301


@pytest.fixture(params=MODELS)
def kind(request):
    return request.param


@pytest.fixture
def trained(kind):
    model = BUILDERS[kind]()
    use(model)
    return model


def options_of(model):
    return [each.name for each in fields(model) if not each.name.startswith("_")]


def test_every_public_model_that_learns_is_looked_at_here():
    assert {"UCB", "RewardForest", "ForestClassifier", "Moments", "ContentSelector", "Stacking"} <= set(MODELS)
    assert set(KINDS) - set(MODELS) == {
        kind
        for kind in KINDS
        if getattr(getattr(public, kind), "__dataclass_params__").frozen  # noqa: B009
    }
    assert all(issubclass(getattr(public, kind), Saveable) for kind in KINDS)


def test_states_are_saved_loaded_and_copied_by_the_base_alone(kind):
    own = {
        name for each in getattr(public, kind).__mro__ if each not in (Model, Saveable, object) for name in vars(each)
    }
    written_once = {"from_state", "snapshot", "n_bytes", "clone", "__setattr__", "__reduce__", "__copy__"}
    assert not own & written_once
    assert getattr(public, kind).__repr__ is Model.__repr__


def test_an_option_cannot_be_changed(kind, trained):
    for name in options_of(trained):
        before = getattr(trained, name)
        with pytest.raises(st.InvalidInput) as caught:
            setattr(trained, name, None)
        assert str(caught.value) == (
            f"{name} is an option of {kind} and stays as it is; make a new one, for example with clone"
        )
        assert getattr(trained, name) is before


def test_the_repr_is_the_class_and_the_options_that_differ_from_the_defaults(kind, trained):
    text = repr(trained)
    assert text.startswith(f"{kind}(")
    assert len(text) < 800
    for option in fields(trained):
        given, default = getattr(trained, option.name), option.default
        if option.init and isinstance(given, str | int | float):
            assert (f"{option.name}={given!r}" in text) == (given != default or type(given) is not type(default))


def test_the_repr_of_long_options_is_short():
    policy = st.EpsilonGreedy(actions=range(1000), epsilon=0.25)
    assert repr(policy) == "EpsilonGreedy(actions=(0, 1, 2, 3, 4, 5, 6, 7, ...), epsilon=0.25)"
    assert len(repr(st.LinUCB(actions=["x" * 10_000], schema=SCHEMA))) < 800


def test_a_clone_has_learned_nothing(kind, trained):
    clone, new = trained.clone(), BUILDERS[kind]()
    known = {} if getattr(trained, "schema", None) is None else {"schema": trained.schema}
    assert same(clone, new.clone(known))
    assert use(clone) == use(new.clone(known))


def test_a_clone_has_the_new_options_and_refuses_those_that_are_none(kind, trained):
    assert trained.clone({}).state().options == trained.clone().state().options
    with pytest.raises(st.InvalidInput, match=rf"^{kind} has no option 'colour'; it has "):
        trained.clone({"colour": 3})
    with pytest.raises(st.InvalidInput, match=r"^new_params hold 'colour'; a copy with include_attributes can "):
        trained.clone({"colour": 3}, include_attributes=True)


@pytest.mark.parametrize("params", [3, "seed", [("seed", 1)]])
def test_new_options_must_be_a_dict(params):
    with refused(naming="^new_params is .*; it must be a dict of options or None$"):
        st.UCB(actions=ACTIONS).clone(params)


@pytest.mark.parametrize("kind", SEEDED)
def test_a_clone_with_a_seed_is_one_with_that_option(kind):
    model = BUILDERS[kind]()
    use(model)
    short, long = model.clone(seed=8), model.clone({"seed": 8})
    assert short.seed == long.seed == 8
    assert same(short, long)


@pytest.mark.parametrize("kind", SEEDED)
def test_a_clone_with_what_was_learned_draws_from_the_streams_of_its_seed(kind):
    model = BUILDERS[kind]()
    use(model)
    exact = model.clone(include_attributes=True)
    first, again, other = (model.clone(include_attributes=True, seed=seed) for seed in (8, 8, 9))
    assert same(exact, model)
    assert same(first, again)
    streams = [name for name in model.state().arrays if name.endswith(("rng", "learner.key"))]
    for name in streams:
        words = {each.state().arrays[name].tobytes() for each in (model, first, other)}
        assert len(words) == 3
    kept = [{n: a.tobytes() for n, a in each.state().arrays.items() if n not in streams} for each in (model, first)]
    assert kept[0] == kept[1]


@pytest.mark.parametrize("duplicate", DUPLICATES.values(), ids=DUPLICATES)
def test_a_copy_equals_its_model_and_shares_nothing_with_it(kind, trained, duplicate):
    other = duplicate(trained)
    assert type(other) is type(trained)
    assert same(other, trained)
    for mine, its in zip(trained.state().arrays.values(), other.state().arrays.values(), strict=True):
        assert not np.shares_memory(mine, its)
    before = duplicate(trained)
    use(other)
    assert same(trained, before)


def test_the_size_is_that_of_the_arrays(kind, trained):
    arrays = trained.state().arrays
    n_bytes = sum(array.nbytes for name, array in arrays.items() if not name.endswith("schema.points"))
    if kind.startswith("Bandit") and kind != "Banditron":  # saved without the parts of the arena that are free
        assert trained.n_bytes > n_bytes
    else:
        assert trained.n_bytes == n_bytes


def test_a_model_with_members_of_others_is_copied_too():
    class Often:
        def __init__(self):
            self.counts = {}

        def learn_one(self, x, y):
            self.counts[y] = self.counts.get(y, 0) + 1

        def predict_one(self, x):
            return max(self.counts, key=self.counts.get, default=None)

        def predict_proba_one(self, x):
            total = sum(self.counts.values())
            return {label: count / total for label, count in self.counts.items()}

    model = st.ensembles.Voting(models=[Often(), st.HoeffdingTreeClassifier()])
    model.learn_many([{"a": 1.0}, {"a": 2.0}], ["x", "x"])
    for other in (copy.copy(model), copy.deepcopy(model), model.clone(include_attributes=True)):
        other.learn_one({"a": 1.0}, "y")
        assert other.members[0].counts == {"x": 2, "y": 1}
        assert model.members[0].counts == {"x": 2}
        with pytest.raises(st.InvalidInput, match=r"^seed is an option of Voting"):
            other.seed = 3
    with pytest.raises(st.InvalidInput, match=r"^a Often among the models is none of Stumpery's own"):
        model.state()


def test_all_that_is_wrong_with_a_files_content_is_a_corrupt_file(tmp_path):
    path = tmp_path / "model.safetensors"
    st.save(st.UCB(actions=ACTIONS), path)
    content = path.read_bytes()
    for damaged in (b"", content[:-1], content[:200], content.replace(b"UCB", b"OCB"), b"\0" * 100):
        path.write_bytes(damaged)
        with pytest.raises(st.CorruptFile):
            st.load(path)
    with pytest.raises(FileNotFoundError):
        st.load(tmp_path / "missing")
    assert issubclass(st.CorruptFile, st.StumperyError)
    assert issubclass(st.CorruptFile, ValueError)
    assert issubclass(st.InvalidInput, ValueError)
    assert issubclass(st.CapacityError, MemoryError)
