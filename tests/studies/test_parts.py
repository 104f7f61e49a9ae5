import pytest

from stumpery.studies.finished_parts import FolderParts


def test_what_was_put_in_a_folder_is_there_for_the_next_run(tmp_path):
    FolderParts(tmp_path)["UCB 3"] = {"reward": [1.0, 2.5]}
    parts = FolderParts(tmp_path)
    assert dict(parts) == {"UCB 3": {"reward": [1.0, 2.5]}}
    assert len(parts) == 1
    del parts["UCB 3"]
    assert "UCB 3" not in parts


@pytest.mark.parametrize("content", [b"", b'{"name": "a", "par', b"[1]", b"\xff\xfe", b'{"name": "other", "part": 1}'])
def test_a_damaged_part_counts_as_not_there(tmp_path, content):
    parts = FolderParts(tmp_path)
    parts["a"] = 1
    (path,) = tmp_path.glob("*.json")
    path.write_bytes(content)
    assert "a" not in parts
    with pytest.raises(KeyError):
        parts["a"]
    assert list(parts) == []
    parts["a"] = 2
    assert parts["a"] == 2
