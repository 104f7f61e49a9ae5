"""Optional dependencies: imported where they are used, with the install command in the error if they are missing."""

import importlib
from types import ModuleType


def need(module: str, extra: str) -> ModuleType:
    """Import an optional module, or raise a ModuleNotFoundError that names the extra to install."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise  # the library is installed, but one of its dependencies is not
        message = f'this needs {package}, which is not installed: pip install "stumpery[{extra}]"'
        raise ModuleNotFoundError(message, name=package) from None
