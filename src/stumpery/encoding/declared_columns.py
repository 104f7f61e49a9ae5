"""Declaration of a learner's columns before its first row."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from stumpery.encoding.schema import Schema
from stumpery.errors import InvalidInput
from stumpery.models import Model
from stumpery.options import shown
from stumpery.saving.saveable import Options, Saveable


class SchemaModel(Model):
    """A model whose columns are those of a schema, with which they are saved."""

    schema: Schema | None

    def _members(self) -> Mapping[str, Any]:
        return super()._members() if self.schema is None else {**super()._members(), "schema": self.schema}

    @classmethod
    def _member_kinds(cls, options: Options) -> Mapping[str, type[Saveable]]:
        return {} if options.get("schema") is None else {"schema": Schema}


class DeclaredColumns(SchemaModel):
    """A learner with `declare_columns`."""

    def declare_columns(self, names: Sequence[str]) -> None:
        """Declare the columns before the first row; a schema must have all of them."""
        names = checked_column_names(names)
        if self.schema is not None:
            self.schema.check_has(names)
        else:
            self._start(Schema.of(dict.fromkeys(names, "numerical")))

    @abstractmethod
    def _start(self, schema: Schema) -> None:
        """Take the columns before the first row; numerical ones may become categorical with their first value."""


def checked_column_names(names: Any) -> list[str]:
    """Names of columns as a list; a single text is refused."""
    if isinstance(names, str | bytes) or not hasattr(names, "__iter__"):
        raise InvalidInput(f"names is {shown(names)}; it must be a list of column names")
    return list(names)


def declared(members: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Copies of an ensemble's members, with these columns declared to those that take them."""
    names = checked_column_names(names)
    copies = list(deepcopy(members))
    for member in copies:
        if hasattr(member, "declare_columns"):
            member.declare_columns(names)
    return copies
