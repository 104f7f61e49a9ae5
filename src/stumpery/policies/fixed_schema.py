"""Contextual policies whose columns are fixed before the first decision: by a schema, or inferred from first rows."""

import logging
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from stumpery.encoding import Schema
from stumpery.errors import InvalidInput
from stumpery.frames import first_rows, n_rows
from stumpery.policies.contextual import ContextualPolicy, SchemaEncoder
from stumpery.types import Context

logger = logging.getLogger(__name__)

N_FIRST_ROWS = 1000  # of a frame, from which a schema is inferred


class RowEncoder(SchemaEncoder, Protocol):
    """An encoder of rows that never changes."""

    def encode_one(self, row: Any) -> NDArray[Any]:
        """One row as an array."""

    def encode_many(self, rows: Any) -> NDArray[Any]:
        """Many rows as a matrix."""


EncoderT = TypeVar("EncoderT", bound=RowEncoder)


@dataclass(kw_only=True, eq=False)
class FixedSchemaPolicy(ContextualPolicy[EncoderT]):
    """A contextual policy that must know its columns, with their categories and quantiles, before it decides."""

    needs_sample: ClassVar[bool] = True

    def _rows(self, contexts: Any) -> NDArray[Any]:
        contexts = self._table(contexts)
        if self._encoder is None:
            schema = self._infer(first_rows(contexts, N_FIRST_ROWS))
            rows = self._new_encoder(schema).encode_many(contexts)  # raises before anything changes
            self._begin(schema)
            return rows
        return self._encoder.encode_many(contexts)

    def _row(self, context: Context) -> NDArray[Any]:
        if context is None:
            raise InvalidInput(f"{type(self).__name__} needs a context to decide on; none came")
        if self._encoder is None:
            self._begin(self._infer(np.asarray(context)[None] if isinstance(context, np.ndarray) else [context]))
            return self._row(context)
        return self._encoder.encode_one(context)

    def _infer(self, rows: Any) -> Schema:
        schema = Schema.infer(rows)
        if self.needs_sample and n_rows(rows) == 1 and not self._determines_schema(rows):
            raise InvalidInput(
                f"{type(self).__name__} cannot learn its columns from one row: "
                "give it schema=stumpery.Schema.infer(first_rows)"
            )
        logger.debug("%s infers a schema of %d columns", type(self).__name__, len(schema.columns))
        return schema

    def _determines_schema(self, row: Any) -> bool:
        """Whether a single row is enough to know the columns: an array of numbers is."""
        return isinstance(row, np.ndarray) and row.dtype.kind in "biuf"
