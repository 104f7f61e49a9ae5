"""From a row of mixed columns to numbers, small codes or bits."""

from stumpery.encoding.bits import BitEncoder
from stumpery.encoding.codes import CodeEncoder
from stumpery.encoding.hashed import HashEncoder
from stumpery.encoding.schema import Schema
from stumpery.encoding.vectors import VectorEncoder

__all__ = ["BitEncoder", "CodeEncoder", "HashEncoder", "Schema", "VectorEncoder"]
