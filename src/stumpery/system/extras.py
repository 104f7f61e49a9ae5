"""Optional libraries: imported where they are used, with the install command when they are missing."""

import importlib
from types import ModuleType


def need(module: str, extra: str) -> ModuleType:
    """Import `module`, or say which extra of Stumpery brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise  # the library is there, something that it needs is not
        message = f'this needs {package}, which is not installed: pip install "stumpery[{extra}]"'
        raise ModuleNotFoundError(message, name=package) from None
