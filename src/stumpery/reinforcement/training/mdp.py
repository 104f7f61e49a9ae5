"""Looking at a row as a game: query a column, or report a class.

The state is a row of which some columns are observed. A query costs `depth_penalty`; a report pays 1 if it is right and
ends the episode. Legal are the queries of columns that are there and not observed yet, and the reports of classes that
have come. What a policy earns on average is its share of right reports less `depth_penalty` times the columns it looks
at: Corollary 3.2 of Chaouki, Read and Bifet.
"""

import jax.numpy as jnp
from jax import Array

ILLEGAL = -1e9


def worths(queries: Array, reports: Array, may_query: Array, n_classes: Array) -> Array:
    """The worth of all actions, queries first, illegal ones out of reach."""
    is_class = jnp.arange(reports.shape[-1]) < n_classes
    return jnp.concatenate([jnp.where(may_query, queries, ILLEGAL), jnp.where(is_class, reports, ILLEGAL)], axis=-1)
