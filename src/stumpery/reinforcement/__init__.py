"""Decision trees built by deep reinforcement learning; training needs the `deep` extra, predicting does not."""

from stumpery.reinforcement.actor_critic_tree import ActorCriticTree
from stumpery.reinforcement.deep_tree import DeepTree
from stumpery.reinforcement.dqn_tree import DQNTree
from stumpery.reinforcement.optimal_tree import OptimalTree
from stumpery.reinforcement.policy_tree import PolicyTree
from stumpery.reinforcement.seeds import learn_together

__all__ = ["ActorCriticTree", "DQNTree", "DeepTree", "OptimalTree", "PolicyTree", "learn_together"]
