"""What river's evaluation and pipelines ask of a classifier; river itself is not needed."""

import sys
from abc import ABC, abstractmethod
from typing import ClassVar


class RiverClassifier(ABC):
    """A classifier of two classes, in river's eyes."""

    _supervised: ClassVar[bool] = True
    _multiclass: ClassVar[bool] = False

    @property
    @abstractmethod
    def n_bytes(self) -> int:
        """The memory that the model holds."""

    @property
    def _raw_memory_usage(self) -> int:
        return self.n_bytes


def meet_river() -> None:
    """Where river is imported, let its metrics and pipelines take these models for classifiers."""
    base = sys.modules.get("river.base")
    if base is not None:
        base.Classifier.register(RiverClassifier)
