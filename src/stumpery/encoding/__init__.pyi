from .bit_encoder import BitEncoder
from .code_encoder import CodeEncoder
from .hash_encoder import HashEncoder
from .schema import Schema
from .vector_encoder import VectorEncoder

__all__ = ["BitEncoder", "CodeEncoder", "HashEncoder", "Schema", "VectorEncoder"]
