"""Use a saved DQN tree without jax: argv is the path."""

import sys

sys.modules["jax"] = None
import stumpery as st  # noqa: E402 - it must not find jax

model = st.load(sys.argv[1])
print(model.predict_one({"device": "watch"}), model.tree().n_leaves)
try:
    model.learn_one({"device": "watch"}, "buys")
except ModuleNotFoundError as error:
    print(error)
