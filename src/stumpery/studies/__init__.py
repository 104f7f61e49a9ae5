"""Studies: one file per figure or table of a source, each a command that anyone can run."""

from stumpery.studies import bandits_101, demo
from stumpery.studies.study import Study

STUDIES: dict[str, Study] = {module.STUDY.name: module.STUDY for module in (demo, bandits_101)}

__all__ = ["STUDIES"]
