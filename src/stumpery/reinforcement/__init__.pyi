from .actor_critic_tree import ActorCriticTree
from .deep_tree import DeepTree
from .dqn_tree import DQNTree
from .optimal_tree import OptimalTree
from .parallel_seeds import learn_together
from .policy_tree import PolicyTree

__all__ = ["ActorCriticTree", "DQNTree", "DeepTree", "OptimalTree", "PolicyTree", "learn_together"]
