from .actor_critic_tree import ActorCriticTree
from .deep_tree import DeepTree
from .dqn_tree import DQNTree
from .optimal_tree import OptimalTree
from .policy_tree import PolicyTree
from .seeds import learn_together

__all__ = ["ActorCriticTree", "DQNTree", "DeepTree", "OptimalTree", "PolicyTree", "learn_together"]
