"""The slow twins are independent of what they check."""

from pathlib import Path

import pytest
from tests.support import imported_by

TWINS = sorted((Path(__file__).parent / "reference").glob("*.py"))
ALLOWED = {"stumpery.types"}  # plain records and types of arrays


def ours_of(source):
    """The imports from the package; relative ones too, which could lead anywhere."""
    return [module for module in imported_by(source) if module.split(".")[0] in ("stumpery", "")]


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.stem)
def test_a_twin_imports_nothing_of_the_package_but_plain_types(twin):
    assert [module for module in ours_of(twin) if module.rpartition(".")[0] not in ALLOWED] == []
    assert "import_module" not in twin.read_text(encoding="utf-8")


def test_every_way_to_import_is_seen(tmp_path):
    source = tmp_path / "twin.py"
    source.write_text(
        "import stumpery as st\nfrom stumpery.trees import gains\nif 1:\n    from . import x\nimport numpy"
    )
    assert ours_of(source) == ["stumpery", "stumpery.trees.gains", "..x"]
