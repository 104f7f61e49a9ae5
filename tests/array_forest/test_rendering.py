"""Trees as text and as pictures: the same for the paper's trees and the reward forest."""

import math

import numpy as np
import pytest
from tests.support import bits_of

import stumpery as st

ACTIONS = ["a", "b"]
KINDS = {
    "stump": (st.policies.BanditStump, {}),
    "tree": (st.policies.BanditTree, {"max_depth": 3}),
    "forest": (st.BanditForest, {"max_depth": 3, "n_trees": 3, "epsilon": 0.6}),
    "reward forest": (st.RewardForest, {"n_trees": 3}),
}


def bits_and_rewards(n_rows=20_000):
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, size=(n_rows, 4), dtype=np.uint8)
    pays = bits[:, 0] & bits[:, 2]
    return bits, np.column_stack([pays, 1 - pays]) * 4.0 - 1.0


@pytest.fixture(scope="module", params=KINDS)
def grown(request):
    kind, options = KINDS[request.param]
    policy = kind(actions=ACTIONS, reward_range=(-1, 3), seed=1, **options)
    policy.play(*bits_and_rewards())
    return policy


def test_text_shows_a_line_for_each_node_down_to_a_depth(grown):
    root, *lines = grown.to_text().splitlines()
    assert not root.startswith(" ")
    assert len(lines) >= 2
    assert all(line.startswith("  ") for line in lines)
    (cut,) = grown.to_text(max_depth=0).splitlines()
    assert cut == f"{root}, {len(grown.leaves()) // len(ACTIONS)} leaves below"


def test_a_picture_has_a_box_for_each_line_of_the_text(grown):
    axes = grown.draw(max_depth=2)
    assert len(axes.texts) == len(grown.to_text(max_depth=2).splitlines())
    assert grown.draw(0, 1, axes) is axes
    axes.figure.canvas.draw()


def test_leaves_tell_every_action_s_rewards_on_the_users_scale(grown):
    rows = grown.leaves()
    rules = list(dict.fromkeys(row["rule"] for row in rows))
    assert [(row["rule"], row["action"]) for row in rows] == [(rule, action) for rule in rules for action in ACTIONS]
    assert sum(row["n"] for row in rows) > 0
    for row in rows:
        assert row["n"] == 0 or -1.0 <= row["mean"] <= 3.0
        if "from" in row:
            assert -1.0 <= row["from"] <= row["to"] <= 3.0
            assert math.isnan(row["mean"]) or row["from"] <= row["mean"] <= row["to"]
    known = [row["mean"] for row in rows if row["n"] > 100]
    assert max(known) == pytest.approx(3.0, abs=0.2)


def test_exploring_falls_from_one(grown):
    fresh = grown.clone(seed=2)
    assert fresh.exploring == 1.0
    assert 0.0 <= grown.exploring < 0.3
    assert "explore" in grown.explain().summary
    assert {row["action"] for row in grown.explain().rows} == set(ACTIONS)
    assert [row["n"] for row in fresh.explain().rows] == [0, 0]


def test_showing_changes_nothing(grown):
    before = bits_of(grown)
    for show in (grown.to_text, grown.leaves, grown.draw, grown.explain, lambda: grown.exploring):
        show()
    assert bits_of(grown) == before


def test_trees_and_depths_that_are_not_there_are_refused(grown):
    for show in (grown.to_text, grown.draw, grown.leaves):
        with pytest.raises(ValueError, match=r"^tree is 3; it must be a whole number from 0 to [02]$"):
            show(3)
    for show in (grown.to_text, grown.draw):
        with pytest.raises(ValueError, match=r"^max_depth is 1\.5; "):
            show(max_depth=1.5)


def test_before_the_first_context_there_is_one_leaf_of_the_paper_and_no_tree_of_ours():
    stump, forest = st.policies.BanditStump(actions=ACTIONS), st.RewardForest(actions=ACTIONS)
    assert [(row["rule"], row["remains"]) for row in stump.leaves()] == [("all", True)] * 2
    for show in (forest.to_text, forest.draw, forest.leaves):
        with pytest.raises(ValueError, match="no context yet"):
            show()


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_boxes_of_a_picture_do_not_overlap(depth):
    rng = np.random.default_rng(3)
    jobs = [f"a long name of a job, number {place}" for place in range(12)]
    rows = [
        {"occupation of the visitor": jobs[rng.integers(12)], **dict(zip("uvwxy", rng.random(5).tolist(), strict=True))}
        for _ in range(6000)
    ]
    labels = [f"class {sum(row[name] > 0.5 for name in 'uvwxy') + (row['u'] > 0.7)}" for row in rows]
    model = st.HoeffdingTreeClassifier()
    model.learn_many(rows, labels)
    assert model.n_leaves > 16
    axes = model.draw(max_depth=depth)
    axes.figure.canvas.draw()
    boxes = [text.get_bbox_patch().get_window_extent() for text in axes.texts]
    assert len(boxes) > 2**depth
    assert not [1 for place, box in enumerate(boxes) for other in boxes[:place] if box.overlaps(other)]
    width, height = axes.figure.get_size_inches() * axes.figure.dpi
    assert all(box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height for box in boxes)
    assert width < 2000
