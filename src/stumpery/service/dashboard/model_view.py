"""What the page shows of a model: the importance of its columns, and one of its trees as an outline."""

import re
from typing import Any

from stumpery.errors import InvalidInput
from stumpery.service.engine.journal import Journal

SHOWN_DEPTH = 3
INDENT = 2  # letters of a step down in `to_text`
STATISTICS = re.compile(r"(?:^|(?<=: ))(?:about )?[\d,]+ events?\b(?!.*: (?:about )?[\d,]+ events?\b)")


def model_view(journal: Journal, name: str) -> dict[str, Any]:
    """Importances by column, and the lines of a tree with their depths; empty for models that have none."""
    model: Any = journal.replica.policy(name).model
    try:
        importances = model.feature_importances() if hasattr(model, "feature_importances") else {}
        lines = model.to_text(max_depth=SHOWN_DEPTH).splitlines() if hasattr(model, "to_text") else []
    except InvalidInput:  # before its first context
        return {"importances": {}, "tree": []}
    return {"importances": importances, "tree": [_line(line) for line in lines]}


def _line(line: str) -> dict[str, Any]:
    """A node: its depth, its rule (empty at the root), and the statistics that follow the rule."""
    text = line.lstrip(" ")
    found = STATISTICS.search(text)
    start = found.start() if found else len(text)
    rule, statistics = text[:start].removesuffix(": "), text[start:]
    return {"depth": (len(line) - len(text)) // INDENT, "text": text, "rule": rule, "statistics": statistics}
