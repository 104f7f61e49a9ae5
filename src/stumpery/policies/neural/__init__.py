"""Neural contextual bandits: NeuralBandit, a committee of networks."""
