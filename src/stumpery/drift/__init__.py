"""Drift detectors, with one protocol.

| detector | watches | fires | what its user does then |
|---|---|---|---|
| ADWIN | errors of a tree | newer errors exceed older ones | replaces the tree by its background tree |
| reward drop | reward minus score | the recent mean falls below the usual one | forgets earlier events |
| error rise | errors of a `DQNTree` | the fast mean exceeds the slow one | forgets all but the latest rows |

ADWIN (`adaptive_window_kernels`) serves `ForestClassifier` and `ForestRegressor`; at a warning, before the drift, a
background tree begins. The reward drop (`reward_drop_kernels`) serves `RewardForest`. The error rise needs jax and is
in `stumpery.reinforcement.training.dqn`. Each fires where a difference exceeds what chance explains.

The protocol: `new_*` makes a state, `update` adds an observation in place, and the state says what was detected. ADWIN
is checked less often than it is updated: it has `detect`, and `reset` empties a window.
"""
