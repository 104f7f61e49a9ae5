"""NeuralBandit: a committee of networks."""
