"""Ask for each public name of a package first of all, as a user would, and print those that are not there."""

import importlib
import sys

package = sys.argv[1]
names = list(importlib.import_module(package).__all__)
missing = []
for name in names:
    for module in [each for each in sys.modules if each.partition(".")[0] == "stumpery"]:
        del sys.modules[module]
    try:
        getattr(importlib.import_module(package), name)
    except (AttributeError, ImportError) as error:
        missing.append(f"{name}: {error}")
print(len(names), *missing, sep="\n")
