"""The base of encoders: a schema, a reader of rows, saving."""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from stumpery.encoding.reader import Reader
from stumpery.encoding.schema import Schema
from stumpery.errors import CorruptFile, InvalidInput
from stumpery.options import listed, shown
from stumpery.saving.saveable import Arrays, Options, Saveable
from stumpery.types import State


@dataclass(frozen=True, kw_only=True)
class Encoder(Saveable):
    """The base of encoders, which are pure functions of a row under a schema.

    Args:
        schema: the columns.
    """

    schema: Schema

    def __post_init__(self) -> None:
        if not isinstance(self.schema, Schema):
            raise InvalidInput(f"schema is {shown(self.schema)}; it must be a Schema, as Schema.infer gives it")

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self.schema)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The meaning of each column of an encoded row."""
        return self.schema.names

    @property
    def width(self) -> int:
        """The length of an encoded row."""
        return len(self.feature_names)

    def _options(self) -> Options:
        options = {**super()._options(), "schema": self.schema.state().options}
        return {name: value.item() if isinstance(value, np.generic) else value for name, value in options.items()}

    def _arrays(self) -> Arrays:
        return self.schema.state().arrays

    @classmethod
    def _arguments(cls, options: Options, arrays: Arrays, learned: Options) -> Options:
        wanted = {each.name for each in fields(cls)}
        if set(options) != wanted:
            raise CorruptFile(
                f"a saved {cls.__name__} has {listed(sorted(options))}; it must have {listed(sorted(wanted))}"
            )
        return {**options, "schema": Schema.from_state(State(options["schema"], arrays))}

    def _restore(self, arrays: Arrays, learned: Options) -> None:
        """All of it is in the options."""
