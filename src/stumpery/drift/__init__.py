"""Drift detectors.

| detector | watches | fires | what its user does then |
|---|---|---|---|
| ADWIN | errors of a tree | newer errors exceed older ones | replaces the tree by its background tree |
| reward drop | reward minus score | the recent mean falls below the usual one | forgets earlier events |
| error rise | errors of a `DQNTree` | the fast mean exceeds the slow one | forgets all but the latest rows |

ADWIN (`adaptive_window_kernels`) serves `ForestClassifier` and `ForestRegressor`; at a warning, before the drift, a
background tree begins. The reward drop (`reward_drop_kernels`) serves `RewardForest`. The error rise needs jax and is
in `stumpery.reinforcement.training.dqn`. Each fires where a difference exceeds what chance explains.

The two kernels have one protocol: `new_*` makes a state, and `update` adds an observation in place. The reward drop
tests each observation; its state says when the concept began and how many drifts there were. ADWIN is tested less often
than it is updated, by `detect`, and `reset` empties a window. The error rise has its state in the `AgentState`, and
`drift_reset` updates it, tests it and forgets the rows.

Within a leaf, `RewardForest` has a second test: `has_leaf_drifted` compares the plays whose events are forgotten with
those that are stored (`stumpery.policies.reward_forest.trees.criterion_kernels`).
"""
