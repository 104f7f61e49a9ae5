"""Optional libraries."""

import math

import pytest

from stumpery.system.extras import need


def test_a_library_that_is_there_is_imported():
    assert need("math", "study") is math
    assert need("os.path", "study").join("a", "b") == "a/b"


@pytest.mark.parametrize("module", ["unheard_of_library", "unheard_of_library.part"])
def test_a_missing_library_is_named_with_the_install_command(module):
    message = r'^this needs unheard_of_library, which is not installed: pip install "stumpery\[study\]"$'
    with pytest.raises(ModuleNotFoundError, match=message) as error:
        need(module, "study")
    assert error.value.name == "unheard_of_library"


def test_a_library_whose_own_need_is_missing_says_so_itself(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import unheard_of_library\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'unheard_of_library'$"):
        need("half_installed", "study")
