"""Studies: one file per figure or table of a source, each a command that anyone can run."""

from stumpery.studies import (
    bandit_forest_depth,
    bandit_forest_rivals,
    bandit_forest_size,
    bandits_101,
    click_challenge,
    click_discretisation,
    click_drift,
    click_replay,
    contest,
    demo,
    ensembles,
    feature_selection,
    forest_cost,
    rl_trees,
    streams,
    stump_sample_complexity,
    toy,
)
from stumpery.studies.study import Study

_ALL = (
    demo.STUDY,
    bandits_101.STUDY,
    toy.STUDY,
    stump_sample_complexity.STUDY,
    bandit_forest_depth.STUDY,
    *bandit_forest_rivals.STUDIES,
    bandit_forest_size.STUDY,
    contest.STUDY,
    forest_cost.STUDY,
    *click_challenge.STUDIES,
    click_drift.STUDY,
    click_discretisation.STUDY,
    click_replay.STUDY,
    feature_selection.STUDY,
    ensembles.STUDY,
    streams.STUDY,
    rl_trees.STUDY,
)
STUDIES: dict[str, Study] = {study.name: study for study in _ALL}

__all__ = ["STUDIES"]
