"""Files of logs: compression, encodings, cut files, several files, recognised formats."""

import codecs
import gzip
import json
import os
import sys

import numpy as np
import pytest
import zstandard
from tests.logs.test_dsjson import event, whole, written

import stumpery as st

EVENTS = [event(number) for number in range(300)]


@pytest.fixture
def plain(tmp_path):
    return written(tmp_path, EVENTS)


def equal(one, other):
    assert one.event_ids == other.event_ids
    np.testing.assert_array_equal(one.rewards, other.rewards)
    assert list(one.contexts) == list(other.contexts)


def test_compressed_files_read_the_same(plain, tmp_path):
    text = plain.read_bytes()
    members = gzip.compress(text[:5000]) + gzip.compress(text[5000:])
    frames = zstandard.compress(text[:5000]) + zstandard.compress(text[5000:])
    for content in (gzip.compress(text), members, zstandard.compress(text), frames):
        path = tmp_path / "events.bin"  # recognised by its bytes
        path.write_bytes(content)
        equal(whole(st.logs.read(path)), whole(st.logs.read(plain)))


@pytest.mark.parametrize("mark", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "latin-1"])
def test_other_encodings_read_the_same(mark, tmp_path):
    rows = [event(number, c={"town": "Tromsø", "hour": 3}) for number in range(30)]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    content = text.encode(mark)
    named = mark if mark == "latin-1" else None
    if mark == "utf-16-le":
        content, named = codecs.BOM_UTF16_LE + content, None
    path = tmp_path / "events.dsjson"
    path.write_bytes(content)
    assert whole(st.logs.read(path, encoding=named, format="dsjson")).contexts["town"] == ["Tromsø"] * 30


def test_bytes_of_another_encoding_make_a_line_unreadable(tmp_path):
    path = written(tmp_path, EVENTS[:3])
    path.write_bytes(path.read_bytes().replace(b'"phone"', b'"ph\xf8ne"', 1))
    with pytest.raises(st.InvalidInput, match="line 1: it is not a line of this format"):
        list(st.logs.read(path).chunks())
    with pytest.raises(st.InvalidInput, match="encoding is 'martian'"):
        st.logs.read(path, encoding="martian")


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstandard.compress], ids=["plain", "gzip", "zstd"])
def test_a_cut_file_is_read_up_to_the_cut(compress, plain, tmp_path):
    path = tmp_path / "cut.dsjson"
    random = np.random.default_rng(3)
    rows = [event(n, c={"hour": n, "noise": float(random.random())}) for n in range(5000)]
    content = compress(written(tmp_path, rows, "long.dsjson").read_bytes())
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(st.InvalidInput, match=r"^cut.dsjson, line \d+: the "):
        list(st.logs.read(path).chunks())
    log = st.logs.read(path, on_error="lenient")
    n_rows = sum(map(len, log.chunks()))
    assert 1500 < n_rows < 3500
    assert set(log.report.counts) <= {"cut last line", "cut file"}
    assert sum(log.report.counts.values()) >= 1
    assert max(map(max, log.report.lines.values())) in (n_rows + 1, n_rows + 2)


def test_a_last_line_without_an_end_is_whole_if_it_can_be_read(plain):
    plain.write_bytes(plain.read_bytes().rstrip(b"\n"))
    assert sum(map(len, st.logs.read(plain).chunks())) == 300


def test_several_files_follow_each_other_and_problems_name_theirs(tmp_path):
    paths = [written(tmp_path, EVENTS[:100], "a.dsjson"), written(tmp_path, [*EVENTS[100:], "{\n"], "b.dsjson")]
    log = st.logs.read(paths, on_error="lenient")
    assert [line for chunk in log.chunks(64) for line in chunk.lines.tolist()] == [*range(1, 101), *range(1, 201)]
    assert log.report.lines == {"unreadable line": [201]}
    assert "b.dsjson:201" in str(log.report)
    with pytest.raises(st.InvalidInput, match=r"^b.dsjson, line 201: "):
        list(st.logs.read(paths, actions=[1, 2, 3]).chunks())


def test_files_of_other_columns_follow_each_other(tmp_path):
    first = written(tmp_path, [event(n, c={"hour": n}) for n in range(5)], "a.dsjson")
    second = written(tmp_path, [event(n, c={"day": n}) for n in range(5, 9)], "b.dsjson")
    log = st.logs.read([first, second])
    assert log.columns == ("hour", "day")
    assert [np.isnan(chunk.contexts["day"]).all() for chunk in log.chunks()] == [True, False]


def test_an_empty_file_is_an_empty_log(tmp_path):
    path = tmp_path / "empty.dsjson"
    for content in (b"", b"\n\n", gzip.compress(b"")):
        path.write_bytes(content)
        log = st.logs.read(path)
        assert (log.actions, log.columns, list(log.chunks())) == ((), (), [])
        assert log.n_rows == 0


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        st.logs.read(tmp_path / "none.dsjson")
    with pytest.raises(IsADirectoryError, match="is a folder; a log is a file"):
        st.logs.read(tmp_path)
    with pytest.raises(st.InvalidInput, match="paths is"):
        st.logs.read([])


def test_an_unknown_format_is_refused_and_a_misspelt_one_proposed(tmp_path, plain):
    path = tmp_path / "novel.txt"
    path.write_text("It was a dark and stormy night\n")
    with pytest.raises(st.InvalidInput, match=r"the format of novel.txt is not recognised"):
        st.logs.read(path)
    with pytest.raises(st.InvalidInput, match="there is no format 'djson': did you mean dsjson"):
        st.logs.read(plain, format="djson")


def test_memory_is_bounded_by_a_chunk(plain, tmp_path):
    path = tmp_path / "line.dsjson"
    with path.open("wb") as file:
        file.truncate(2**26 + 2**20)  # zeros without a line end, that take no room on the disk
    with pytest.raises(st.InvalidInput, match="it is longer than 67,108,864 bytes"):
        list(st.logs.read(path, format="dsjson").chunks())
    os.unlink(path)  # noqa: PTH108


def test_columns_can_be_chosen(plain):
    log = st.logs.read(plain, columns=["hour"])
    assert log.columns == ("hour",)
    assert whole(log).contexts.names == ("hour",)
    with pytest.raises(st.InvalidInput, match="there is no column 'huor': did you mean hour"):
        st.logs.read(plain, columns=["huor"])


@pytest.mark.parametrize(("name", "content"), [("msgspec", b""), ("zstandard", zstandard.compress(b"{}"))])
def test_a_missing_library_is_named_with_the_command_that_installs_it(name, content, tmp_path, monkeypatch):
    path = tmp_path / "events.dsjson"
    path.write_bytes(content)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModuleNotFoundError, match=rf'needs {name}.*pip install "stumpery\[logs\]"'):
        st.logs.read(path)
