"""Studies: one file per figure or table of a source, each a command that anyone can run."""

from stumpery.studies import demo
from stumpery.studies.bandit_forest import depth as bandit_forest_depth
from stumpery.studies.bandit_forest import rivals as bandit_forest_rivals
from stumpery.studies.bandit_forest import sample_complexity as stump_sample_complexity
from stumpery.studies.bandit_forest import size as bandit_forest_size
from stumpery.studies.bandit_forest import toy_problem
from stumpery.studies.clicks import challenge as click_challenge
from stumpery.studies.clicks import discretisation as click_discretisation
from stumpery.studies.clicks import drift as click_drift
from stumpery.studies.clicks import replay as click_replay
from stumpery.studies.context_free import lecture_notes as bandits_101
from stumpery.studies.contextual import (
    contest,
    contest_repeated,
    forest_cost,
    lateness,
    many_actions,
    many_categories,
    partitions,
    staleness,
)
from stumpery.studies.ensembles import lecture_notes as ensembles
from stumpery.studies.off_policy import coverage as off_policy_coverage
from stumpery.studies.off_policy import open_bandit as off_policy_open_bandit
from stumpery.studies.reinforcement import trees as rl_trees
from stumpery.studies.selection import feature_selection
from stumpery.studies.streaming import streams
from stumpery.studies.study import Study

_ALL = (
    demo.STUDY,
    bandits_101.STUDY,
    toy_problem.STUDY,
    stump_sample_complexity.STUDY,
    bandit_forest_depth.STUDY,
    *bandit_forest_rivals.STUDIES,
    bandit_forest_size.STUDY,
    contest.STUDY,
    contest_repeated.STUDY,
    forest_cost.STUDY,
    lateness.STUDY,
    partitions.STUDY,
    staleness.STUDY,
    many_actions.STUDY,
    many_categories.STUDY,
    *click_challenge.STUDIES,
    click_drift.STUDY,
    click_discretisation.STUDY,
    click_replay.STUDY,
    feature_selection.STUDY,
    ensembles.STUDY,
    off_policy_coverage.STUDY,
    off_policy_open_bandit.STUDY,
    streams.STUDY,
    rl_trees.STUDY,
)
STUDIES: dict[str, Study] = {study.name: study for study in _ALL}

__all__ = ["STUDIES"]
