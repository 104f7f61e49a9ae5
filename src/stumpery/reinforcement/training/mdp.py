"""The Markov decision process (MDP) of classifying a row: query a column, or report a class.

The state is a row of which some columns are observed. A query costs `depth_penalty`. A report pays 1 if it is right,
and ends the episode. Legal actions are queries of columns that have a value and are not observed yet, and reports of
classes that have occurred. The expected return of a policy is its accuracy less `depth_penalty` times its mean number
of queries: Corollary 3.2 of Chaouki, Read and Bifet.
"""

import jax.numpy as jnp
from jax import Array

ILLEGAL = -1e9  # value of an illegal action


def mask_illegal(queries: Array, reports: Array, may_query: Array, n_classes: Array) -> Array:
    """The Q-values or logits of all actions, queries first, with those of illegal actions masked."""
    is_class = jnp.arange(reports.shape[-1]) < n_classes
    return jnp.concatenate([jnp.where(may_query, queries, ILLEGAL), jnp.where(is_class, reports, ILLEGAL)], axis=-1)
