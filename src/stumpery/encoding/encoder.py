"""The base of encoders: a schema, a reader of rows, saving."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Self

import numpy as np

from stumpery.encoding.reader import Reader
from stumpery.encoding.schema import Schema
from stumpery.options import listed, shown
from stumpery.types import State


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """The base of encoders, which are pure functions of a row under a schema.

    Args:
        schema: the columns.
    """

    schema: Schema

    def __post_init__(self) -> None:
        if not isinstance(self.schema, Schema):
            raise ValueError(f"schema is {shown(self.schema)}; it must be a Schema, as Schema.infer gives it")

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

    def state(self) -> State:
        """The options and the schema, as plain values and arrays."""
        schema, arrays = self.schema.state()
        options = {each.name: getattr(self, each.name) for each in fields(self)}
        plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in options.items()}
        return State({**plain, "schema": schema}, arrays)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Rebuild from `state`; a ValueError says what does not fit."""
        wanted = {each.name for each in fields(cls)}
        if set(state.options) != wanted:
            raise ValueError(
                f"a saved {cls.__name__} has {listed(sorted(state.options))}; it must have {listed(sorted(wanted))}"
            )
        schema = Schema.from_state(State(state.options["schema"], state.arrays))
        return cls(**{**state.options, "schema": schema})
