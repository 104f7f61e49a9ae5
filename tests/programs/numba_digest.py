"""Print a digest of what forests decide and learn."""

import hashlib

import numpy as np

import stumpery as st

draw = np.random.default_rng(3)
rows = draw.random((3000, 5)).round(3)
labels = ((rows[:, 0] > 0.5) * 2 + (rows[:, 1] * rows[:, 2] > 0.2)).astype(int)
policy = st.RewardForest(actions=range(4), n_trees=8, seed=7)
played = policy.play(rows, np.eye(4)[labels])
model = st.ForestClassifier(seed=7)
model.learn_many(rows, labels.tolist())
digest = hashlib.sha256(played.actions.tobytes() + played.probabilities.tobytes())
for each in policy, model:
    for name, array in sorted(each.state().arrays.items()):
        digest.update(name.encode() + array.tobytes())
print(digest.hexdigest())
