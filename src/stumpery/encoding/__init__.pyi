from .bits import BitEncoder
from .codes import CodeEncoder
from .hashed import HashEncoder
from .schema import Schema
from .vectors import VectorEncoder

__all__ = ["BitEncoder", "CodeEncoder", "HashEncoder", "Schema", "VectorEncoder"]
