"""Modes of `run`, the one kernel of a contextual policy: it goes along rows and decides, learns, or does both.

One entry point serves `decide`, `learn`, their `_many` twins, `play` and `explain`, since each further one would
compile everything below it again. With neither mode it only fills the action statistics.
"""

DECIDES, LEARNS = 1, 2
