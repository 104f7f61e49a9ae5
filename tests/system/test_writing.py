"""Files are written whole or not at all, over regular files only, and leave nothing behind."""

import errno
import fcntl
import os
import signal
import socket
import stat
import subprocess
import threading

import pytest
from tests.support import command_of, names_in

import stumpery as st
from stumpery.saving import files
from stumpery.system import writing


def test_a_named_pipe_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(FileExistsError, match=r"^[^\n]+pipe is a named pipe; only a regular file is replaced$"):
        st.save(st.summaries.Moments(), pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert names_in(tmp_path) == ["pipe"]


def test_a_link_to_a_named_pipe_is_not_followed_to_replace_it(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    with pytest.raises(FileExistsError, match="is a named pipe"):
        st.save(st.summaries.Moments(), tmp_path / "link")
    assert names_in(tmp_path) == ["link", "pipe"]


def test_a_socket_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        with pytest.raises(FileExistsError, match="is a socket; only a regular file is replaced"):
            st.save(st.summaries.Moments(), "socket")
    assert stat.S_ISSOCK((tmp_path / "socket").stat().st_mode)


def test_a_folder_is_not_replaced(tmp_path):
    with pytest.raises(IsADirectoryError, match=r"^[^\n]+ is a folder; a file's path is needed$"):
        st.save(st.summaries.Moments(), tmp_path)
    assert names_in(tmp_path) == []


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^there is no folder [^\n]+missing to write model in$"):
        st.save(st.summaries.Moments(), tmp_path / "missing" / "model")


def test_a_file_in_place_of_a_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"^[^\n]+file[^\n]*$"):
        st.save(st.summaries.Moments(), tmp_path / "file" / "model")
    with pytest.raises(OSError, match=r"^[^\n]+file[^\n]*$"):
        st.load(tmp_path / "file" / "model")


@pytest.mark.parametrize("path", ["", None, 3, b"model", ["model"], "a\0b", True])
def test_what_is_no_path_is_refused_by_save_and_load(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for call in (lambda: st.save(st.summaries.Moments(), path), lambda: st.load(path)):
        with pytest.raises(ValueError, match=r"^path is [^\n]+; it must [^\n]+$"):
            call()
    assert names_in(tmp_path) == []


def test_links_that_lead_round_in_a_circle_are_refused(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for call in (lambda path: st.save(st.summaries.Moments(), path), st.load):
        with pytest.raises(OSError, match=r"^[^\n]+a cannot be (read|written): [^\n]+$"):
            call(tmp_path / "a")
    assert names_in(tmp_path) == ["a", "b"]


def test_a_link_is_followed_to_the_file_that_it_stands_for(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real/model")
    st.save(st.summaries.Moments(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "model").is_file()
    assert isinstance(st.load(tmp_path / "link"), st.summaries.Moments)


@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOSPC, errno.EROFS])
def test_errors_of_the_system_become_one_sentence_and_keep_their_number(number, tmp_path, monkeypatch):
    def failing(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(writing.os, "fsync", failing)
    with pytest.raises(OSError, match=rf"^[^\n]+model cannot be written: {os.strerror(number)}$") as caught:
        st.save(st.summaries.Moments(), tmp_path / "model")
    assert caught.value.errno == number
    assert names_in(tmp_path) == []


def test_a_path_that_is_no_regular_file_is_not_loaded(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError, match=r"^there is no file [^\n]+pipe: it is a named pipe$"):
        st.load(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError, match=r"^there is no file [^\n]+: it is a folder$"):
        st.load(tmp_path)


def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    st.save(st.summaries.Moments(), tmp_path / "model")

    def refused(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(files.Path, "open", refused)  # the superuser may read anything
    with pytest.raises(PermissionError, match=r"^[^\n]+ cannot be read: Permission denied$"):
        st.load(tmp_path / "model")


@pytest.mark.parametrize("name", ["model", "x" * 250, "a.b[c]*"])
def test_the_next_save_deletes_what_a_killed_process_left(tmp_path, name):
    path = tmp_path / name
    for _ in range(2):
        killed = subprocess.run(command_of("killed_save.py", path), check=False)
        assert killed.returncode == -signal.SIGKILL
    assert len(names_in(tmp_path)) == 1  # the second has deleted what the first had left
    st.save(st.summaries.Moments(), path)
    assert names_in(tmp_path) == [name]


def test_partial_files_of_other_paths_and_of_living_saves_stay(tmp_path):
    path = tmp_path / "model"
    other = tmp_path / f".model2.{'0' * 32}.part"
    other.write_text("another path's")
    with writing.whole_file(path) as part:
        part.write_text("first")
        st.save(st.summaries.Moments(), path)
        assert part.read_text() == "first"
    assert path.read_text() == "first"
    assert names_in(tmp_path) == sorted(["model", other.name])


def test_a_part_that_is_no_regular_file_is_left_alone(tmp_path):
    pipe = tmp_path / f".model.{'0' * 32}.part"
    os.mkfifo(pipe)
    st.save(st.summaries.Moments(), tmp_path / "model")
    assert names_in(tmp_path) == sorted(["model", pipe.name])


def test_a_part_deleted_before_it_was_locked_is_made_anew(tmp_path, monkeypatch):
    deleted = []
    flock = fcntl.flock

    def late(descriptor, kind):
        if not deleted and not kind & fcntl.LOCK_NB:
            deleted.extend(tmp_path.iterdir())
            deleted[0].unlink()
        flock(descriptor, kind)

    monkeypatch.setattr(writing.fcntl, "flock", late)
    st.save(st.summaries.Moments(), tmp_path / "model")
    assert len(deleted) == 1
    assert names_in(tmp_path) == ["model"]


def test_many_saves_to_one_path_leave_one_whole_file(tmp_path):
    path = tmp_path / "model"
    contents = [bytes([number]) * 10_000 for number in range(6)]
    threads = [
        threading.Thread(target=lambda content=content: [writing.write_whole(path, content) for _ in range(20)])
        for content in contents
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in contents
    assert names_in(tmp_path) == ["model"]


def test_a_folder_that_may_be_written_to_and_not_be_read_is_enough(tmp_path, monkeypatch):
    opened = os.open

    def refused(*_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    def without_folders(path, flags, *more, **options):
        return refused() if flags & os.O_DIRECTORY else opened(path, flags, *more, **options)

    monkeypatch.setattr(writing.Path, "iterdir", refused)
    monkeypatch.setattr(writing.os, "open", without_folders)
    st.save(st.summaries.Moments(), tmp_path / "model")
    monkeypatch.undo()
    assert names_in(tmp_path) == ["model"]


def test_files_are_written_where_there_are_no_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "fcntl", None)
    st.save(st.summaries.Moments(), tmp_path / "model")
    assert names_in(tmp_path) == ["model"]
    assert st.load(tmp_path / "model").count == 0.0


def test_the_file_and_its_folder_are_on_the_disk_when_save_returns(tmp_path, monkeypatch):
    synced = []
    fsync = os.fsync

    def noted(descriptor):
        synced.append(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr(writing.os, "fsync", noted)
    st.save(st.summaries.Moments(), tmp_path / "model")
    assert synced == [(tmp_path / "model").stat().st_ino, tmp_path.stat().st_ino]


def test_a_file_system_that_numbers_files_anew_is_written_to(tmp_path, monkeypatch):
    monkeypatch.setattr(writing.os.path, "samestat", lambda one, other: False)
    st.save(st.summaries.Moments(), tmp_path / "model")
    assert names_in(tmp_path) == ["model"]


def test_a_part_that_is_deleted_again_and_again_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "MAX_TRIES", 3)
    monkeypatch.setattr(writing.fcntl, "flock", lambda *_: [part.unlink() for part in tmp_path.iterdir()])
    with pytest.raises(FileNotFoundError, match=r"model cannot be written: 3 partial files were deleted before"):
        st.save(st.summaries.Moments(), tmp_path / "model")
    assert names_in(tmp_path) == []
