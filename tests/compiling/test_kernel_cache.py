"""The disk cache of compiled kernels: what is loaded from it, what is refused, and what is kept."""

import errno
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests import support
from tests.support import PROGRAMS, command_of

from stumpery import jit
from stumpery.compiling import kernel_cache
from stumpery.compiling.kernel_cache import KEY_BYTES, N_CACHES_KEPT, TAG, TAG_CONTENT, Store, kernel_store
from stumpery.system import folders

KEY = bytes(range(KEY_BYTES))
USE_CACHE = f"import runpy; runpy.run_path({str(PROGRAMS / 'cache_use.py')!r})"
INITIAL_PROBABILITY = "import stumpery as st; policy = st.UCB(actions=['a', 'b']); print(policy.decide().probability)"


class Planted:
    """Unpickling it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def environment(cache, **switches):
    """The environment variables of a new process, whose key lies beside its cache folder."""
    return support.environment(cache, **{"STUMPERY_CACHE_KEY": f"{cache}.key", **switches})


def run(program, cache, **switches):
    return support.output_of(support.command_of(program), environment(cache, **switches))


def run_code(code, cache, **switches):
    return support.output_of([sys.executable, "-W", "error", "-c", code], environment(cache, **switches))


def files_in(cache):
    return [path for path in sorted(cache.rglob("*")) if path.is_file()]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache folder and a key of this test's own, not made yet."""
    monkeypatch.setenv("STUMPERY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("STUMPERY_CACHE_KEY", str(tmp_path / "state" / "kernels.key"))
    return tmp_path / "cache"


@pytest.fixture
def key_path(cache):
    return cache.parent / "state" / "kernels.key"


@pytest.fixture
def store(tmp_path):
    (tmp_path / "0123456789abcdef").mkdir()
    return Store(tmp_path / "0123456789abcdef", KEY)


def opened():
    """The store of a process that starts now."""
    return kernel_store.__wrapped__(False)


def refused(sentence):
    """The store is None, and one warning says why."""
    with pytest.warns(RuntimeWarning, match=sentence) as told:
        assert opened() is None
    assert len(told) == 1


def double(number):
    return number + number


def uses(monkeypatch, store):
    """How often a kernel was found in the store and how often not, in a process that starts now."""
    monkeypatch.setattr(kernel_cache, "kernel_store", lambda bounds_check: store)
    compiled = jit.kernel(double)
    assert compiled(21) == 42
    return sum(compiled.stats.cache_hits.values()), sum(compiled.stats.cache_misses.values())


def test_the_cache_name_changes_with_every_kernel_source_and_setting(tmp_path, monkeypatch):
    sources = [tmp_path / "first_kernels.py", tmp_path / "second_kernels.py"]
    for source in sources:
        source.write_text("x = 1\n")
    monkeypatch.setattr(kernel_cache, "kernel_files", lambda: sources)
    names = [kernel_cache.fingerprint(bounds_check=False)]
    for source in sources:
        source.write_text("x = 2\n")
        names.append(kernel_cache.fingerprint(bounds_check=False))
    names.append(kernel_cache.fingerprint(bounds_check=True))
    monkeypatch.setattr(kernel_cache, "EXTENDED", not kernel_cache.EXTENDED)
    names.append(kernel_cache.fingerprint(bounds_check=True))
    monkeypatch.setattr(kernel_cache.numba, "__version__", "0.0")
    names.append(kernel_cache.fingerprint(bounds_check=True))
    assert len(set(names)) == 6


def test_the_cache_lies_under_the_named_folder_one_for_each_mode(tmp_path):
    code = """
from stumpery.compiling.kernel_cache import kernel_store
from stumpery.jit import BOUNDS_CHECK
print(kernel_store(BOUNDS_CHECK).folder)
"""
    fast = Path(run_code(code, tmp_path / "cache"))
    checked = Path(run_code(code, tmp_path / "cache", STUMPERY_BOUNDS_CHECK="1"))
    assert fast == Path(run_code(code, tmp_path / "cache", STUMPERY_BOUNDS_CHECK="0"))
    assert fast != checked
    assert sorted((tmp_path / "cache" / "kernels").iterdir()) == sorted([fast, checked])


def test_without_named_places_cache_and_key_lie_in_the_users_own_folders(monkeypatch, tmp_path):
    for name in ("STUMPERY_CACHE", "STUMPERY_CACHE_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "states"))
    assert folders.cache_root() == tmp_path / "caches" / "stumpery"
    assert folders.cache_key_path() == tmp_path / "states" / "stumpery" / "kernels.key"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert folders.cache_root() == tmp_path / ".cache" / "stumpery"
    assert folders.cache_key_path() == tmp_path / ".local" / "state" / "stumpery" / "kernels.key"


def homeless():
    raise RuntimeError("Could not determine home directory.")


def test_a_user_without_a_home_goes_without_a_cache(monkeypatch):
    for name in ("STUMPERY_CACHE", "STUMPERY_CACHE_KEY", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert opened() is None


def test_a_user_without_a_home_needs_a_name_for_the_folder_and_for_the_key(cache, monkeypatch):
    monkeypatch.setattr(Path, "home", homeless)
    assert opened().folder.is_relative_to(cache)
    monkeypatch.delenv("STUMPERY_CACHE_KEY")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    refused("there is no home folder for their key; STUMPERY_CACHE_KEY names a file")
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    refused("kernels.key can be neither read nor made .* STUMPERY_CACHE_KEY")


def test_a_cache_folder_that_cannot_be_made_means_no_cache_and_all_still_works(tmp_path):
    (tmp_path / "file").write_text("a regular file, not a folder")
    key = {"STUMPERY_CACHE_KEY": str(tmp_path / "key")}
    assert run("cache_use.py", tmp_path / "file" / "cache", **key) == "0 2"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_second_process_compiles_nothing_and_the_key_is_private(cache, key_path):
    first, second = opened(), opened()
    assert first == second
    assert key_path.stat().st_mode & 0o777 == 0o600
    assert key_path.read_bytes() == first.key
    assert len(first.key) == KEY_BYTES
    assert not key_path.is_relative_to(cache)


def test_a_kernel_is_found_again_by_its_types(store, monkeypatch):
    assert uses(monkeypatch, store) == (0, 1)
    assert uses(monkeypatch, store) == (1, 0)
    compiled = jit.kernel(double)
    assert compiled(1.5) == 3.0
    assert sum(compiled.stats.cache_misses.values()) == 1
    assert len(files_in(store.folder)) == 2


def test_a_kernel_from_the_cache_imports_nothing_that_only_the_compiler_needs(cache):
    assert run("cached_sum.py", cache) == "0 True"
    assert run("cached_sum.py", cache) == "1 False"


def test_a_miss_of_the_cache_is_logged(store, monkeypatch, caplog):
    with caplog.at_level("DEBUG", logger="stumpery"):
        assert uses(monkeypatch, store) == (0, 1)
        assert uses(monkeypatch, store) == (1, 0)
    (said,) = [each.getMessage() for each in caplog.records if each.name == "stumpery.compiling.kernel_cache"]
    assert said.startswith("kernel cache miss: ")


def test_a_file_of_other_types_under_the_same_name_is_not_taken(store, monkeypatch):
    monkeypatch.setattr(kernel_cache.KernelCache, "_file_name", lambda cache, key: "same.nbc")
    assert uses(monkeypatch, store) == (0, 1)
    compiled = jit.kernel(double)
    assert compiled(1.5) == 3.0
    assert sum(compiled.stats.cache_misses.values()) == 1


def test_recompiling_forgets_what_is_on_the_disk(store, monkeypatch):
    assert uses(monkeypatch, store) == (0, 1)
    (store.folder / "other-0-0.nbc").write_bytes(b"of another kernel")
    compiled = jit.kernel(double)
    assert compiled(21) == 42
    compiled.recompile()
    assert sum(compiled.stats.cache_misses.values()) == 1
    assert (store.folder / "other-0-0.nbc").exists()


def test_a_kernel_without_a_file_of_its_source_is_compiled_in_every_process(store, monkeypatch):
    monkeypatch.setattr(kernel_cache, "kernel_store", lambda bounds_check: store)
    names = {}
    exec("def triple(number):\n    return 3 * number", names)  # noqa: S102 - a function without a file
    assert jit.kernel(names["triple"])(2) == 6
    assert files_in(store.folder) == []


def test_kernels_of_a_file_that_changes_are_compiled_anew(tmp_path):
    script = tmp_path / "script.py"
    source = (PROGRAMS / "double.py").read_text()
    for change, said in (("number", ["42 0 1", "42 1 0"]), ("7", ["28 0 1"]), ("8", ["29 0 1"])):
        script.write_text(source.replace("number + number", f"number + {change}"))
        assert [run(script, tmp_path / "cache") for _ in said] == said


def test_planted_files_run_nothing_and_are_replaced(tmp_path):
    cache, proof = tmp_path / "cache", tmp_path / "proof"
    assert run_code(INITIAL_PROBABILITY, cache) == "0.5"
    places = [path for path in files_in(cache) if path.name != TAG]
    assert places
    for path in places:
        path.write_bytes(pickle.dumps(Planted(proof)))
        path.with_suffix(".nbi").write_bytes(pickle.dumps(Planted(proof)))
    assert run_code(INITIAL_PROBABILITY, cache) == "0.5"
    assert not proof.exists()
    assert all(b"proof" not in path.read_bytes() for path in places)


def test_a_pickle_that_is_authenticated_with_another_key_is_never_loaded(store, tmp_path, monkeypatch):
    assert uses(monkeypatch, store) == (0, 1)
    (path,) = files_in(store.folder)
    store._replace(key=bytes(KEY_BYTES)).write(path.name, pickle.dumps(Planted(tmp_path / "proof")))
    assert store.read(path.name) is None
    assert uses(monkeypatch, store) == (0, 1)
    assert not (tmp_path / "proof").exists()
    assert uses(monkeypatch, store) == (1, 0)


def test_files_belong_to_their_name_and_to_their_version(store):
    other = store._replace(folder=store.folder.with_name("f" * 16))
    other.folder.mkdir()
    store.write("one.nbc", b"one")
    store.write("two.nbc", b"two")
    assert bytes(store.read("one.nbc")) == b"one"
    shutil.copy(store.folder / "one.nbc", store.folder / "two.nbc")
    shutil.copy(store.folder / "one.nbc", other.folder / "one.nbc")
    assert store.read("two.nbc") is None
    assert other.read("one.nbc") is None


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.5, 0.999])
def test_a_changed_byte_or_a_missing_end_is_noticed(store, share):
    store.write("one.nbc", bytes(5000))
    path = store.folder / "one.nbc"
    sound = path.read_bytes()
    damaged = bytearray(sound)
    damaged[int(len(sound) * share)] ^= 0x55
    path.write_bytes(damaged)
    assert store.read("one.nbc") is None
    path.write_bytes(sound[: int(len(sound) * share)])
    assert store.read("one.nbc") is None
    path.write_bytes(sound + b"more")
    assert store.read("one.nbc") is None
    path.write_bytes(sound)
    assert bytes(store.read("one.nbc")) == bytes(5000)


@pytest.mark.parametrize("share", [0.001, 0.5, 0.999])
def test_machine_code_with_a_changed_byte_is_never_run(tmp_path, share):
    cache = tmp_path / "cache"
    assert run_code(INITIAL_PROBABILITY, cache) == "0.5"
    path = max(cache.rglob("*.nbc"), key=lambda path: path.stat().st_size)
    damaged = bytearray(path.read_bytes())
    damaged[int(len(damaged) * share)] ^= 0x55
    path.write_bytes(damaged)
    assert run_code(INITIAL_PROBABILITY, cache) == "0.5"
    assert path.read_bytes() != bytes(damaged)


def test_an_authentic_file_that_cannot_be_rebuilt_is_compiled_anew(store, monkeypatch):
    assert uses(monkeypatch, store) == (0, 1)
    (path,) = files_in(store.folder)
    store.write(path.name, b"cno_such_module\nno_such_class\n.")
    assert uses(monkeypatch, store) == (0, 1)
    assert uses(monkeypatch, store) == (1, 0)


def test_files_of_others_and_links_in_the_folder_are_not_read(store, monkeypatch):
    store.write("one.nbc", b"one")
    path = store.folder / "one.nbc"
    for mode in (0o664, 0o646):
        path.chmod(mode)
        assert store.read("one.nbc") is None
    path.chmod(0o644)
    path.rename(store.folder.parent / "one.nbc")
    path.symlink_to(store.folder.parent / "one.nbc")
    assert store.read("one.nbc") is None
    path.unlink()
    (store.folder.parent / "one.nbc").rename(path)
    assert bytes(store.read("one.nbc")) == b"one"
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    assert store.read("one.nbc") is None


@pytest.mark.parametrize("place", ["", "kernels", "kernels/name"])
@pytest.mark.parametrize("mode", [0o775, 0o757, 0o777])
def test_a_folder_that_others_may_write_is_refused(cache, place, mode):
    folder = opened().folder
    unsafe = cache / place.replace("name", folder.name)
    unsafe.chmod(mode)
    refused(f"other users may write {unsafe} .mode {mode:04o}")
    unsafe.chmod(0o755)
    assert opened().folder == folder


def test_the_warning_comes_once_in_a_process_and_nothing_is_written(tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    command = [sys.executable, PROGRAMS / "cache_use.py"]
    done = subprocess.run(command, env=environment(cache), capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "2"]
    assert done.stderr.count("RuntimeWarning: the disk cache of compiled kernels is not used: ") == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["cache"]


def test_what_every_user_may_rename_is_refused_and_a_sticky_folder_is_not(cache):
    outer = cache.parent / "outer"
    (outer / "inner").mkdir(parents=True)
    opened()
    cache.rename(outer / "inner" / "cache")
    cache.symlink_to(outer / "inner" / "cache")  # the user's own choice; what counts is where it leads
    assert opened() is not None
    outer.chmod(0o777)
    refused(f"every user may rename files in {outer} ")
    outer.chmod(0o1777)
    assert opened() is not None


def test_the_folder_above_may_be_writable_by_a_group_also_at_the_first_use(cache):
    cache.parent.chmod(0o775)
    first = opened()
    assert first is not None
    assert opened() == first


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_in_place_of_a_file_is_refused_and_not_waited_for(cache):
    store = opened()
    os.mkfifo(store.folder / "one.nbc", 0o600)
    assert store.read("one.nbc") is None


def test_a_shared_folder_like_that_for_temporary_files_may_hold_a_cache(cache):
    cache.mkdir()
    cache.chmod(0o1777)
    assert opened().folder.is_relative_to(cache)


def test_folders_that_are_made_are_the_users_own_whatever_the_umask(cache):
    before = os.umask(0)
    try:
        first = opened()
    finally:
        os.umask(before)
    assert first is not None
    assert opened() == first


def test_a_folder_of_another_user_is_refused(cache, monkeypatch):
    opened()
    owner = cache.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    refused(f"belongs to another user .uid {owner}")


def test_a_superuser_takes_nothing_from_a_users_folder_and_puts_nothing_there(cache, monkeypatch):
    cache.mkdir()
    real = Path.stat
    of_somebody = os.stat_result([0o40755, 0, 0, 1, 4711, *[0] * 5])
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(Path, "stat", lambda path, **how: of_somebody if path == cache else real(path, **how))
    refused(f"{cache} belongs to another user .uid 4711")
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("place", ["kernels", "kernels/name"])
def test_links_inside_the_cache_are_refused(cache, place):
    folder = opened().folder
    link = cache / place.replace("name", folder.name)
    link.rename(cache / "elsewhere")
    link.symlink_to(cache / "elsewhere")
    before = files_in(cache)
    refused(f"{link} is a link")
    assert files_in(cache) == before


def test_a_key_that_others_may_read_or_have_made_is_refused(cache, key_path, monkeypatch):
    opened()
    for mode, what in ((0o640, "read"), (0o604, "read"), (0o620, "write")):
        key_path.chmod(mode)
        refused(f"other users may {what} {key_path}")
    key_path.chmod(0o600)
    assert opened() is not None
    real = os.fstat
    monkeypatch.setattr(os, "fstat", lambda file: os.stat_result([0o100600, 0, 0, 1, 4711, *real(file)[5:]]))
    refused(f"{key_path} belongs to another user .uid 4711")


@pytest.mark.parametrize("length", [0, KEY_BYTES - 1, KEY_BYTES + 1])
def test_a_damaged_key_is_refused(cache, key_path, length):
    opened()
    key_path.write_bytes(bytes(length))
    refused(f"{key_path} is not a key of {KEY_BYTES} bytes; remove it")


def test_a_link_is_no_key(cache, key_path):
    opened()
    key_path.rename(cache.parent / "elsewhere")
    key_path.symlink_to(cache.parent / "elsewhere")
    refused(f"{key_path} can be neither read nor made")


def test_without_its_key_a_cache_is_made_anew(cache, key_path, monkeypatch):
    assert uses(monkeypatch, opened()) == (0, 1)
    assert uses(monkeypatch, opened()) == (1, 0)
    key_path.unlink()
    assert uses(monkeypatch, opened()) == (0, 1)
    assert uses(monkeypatch, opened()) == (1, 0)


def test_a_process_takes_the_key_of_another_that_was_first(cache, monkeypatch):
    key = opened().key
    monkeypatch.setattr(os.path, "lexists", lambda path: False)  # as it was a moment before
    assert opened().key == key
    assert [path.name for path in (cache.parent / "state").iterdir()] == ["kernels.key"]


def test_two_processes_may_start_at_once_on_nothing(tmp_path):
    cache = tmp_path / "cache"
    command = command_of("cache_use.py")
    both = [subprocess.Popen(command, env=environment(cache), stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for each in both:
        said, _ = each.communicate()
        assert each.returncode == 0
        assert sum(map(int, said.split())) == 2
    assert run("cache_use.py", cache) == "2 0"
    assert [path.name for path in tmp_path.rglob("*.tmp")] == []


@pytest.mark.parametrize(
    ("step", "written"), [("os.link", "cache.key."), ("pathlib.Path.replace", ""), ("os.fdopen", "")]
)
def test_a_process_that_is_killed_while_it_writes_harms_nobody(tmp_path, step, written):
    cache = tmp_path / "cache"
    killed = f"import os, pathlib\n{step} = lambda *_: os.kill(os.getpid(), 9)\n{USE_CACHE}"
    done = subprocess.run([sys.executable, "-c", killed], env=environment(cache), check=False)
    assert done.returncode == -signal.SIGKILL
    (part,) = tmp_path.rglob("*.tmp")
    assert part.name.startswith(written)
    assert run("cache_use.py", cache) == "0 2"
    assert run("cache_use.py", cache) == "2 0"


def test_what_killed_processes_have_left_is_removed_after_a_while(store):
    old, new = store.folder / "one.nbc.0.tmp", store.folder / "two.nbc.0.tmp"
    for part in (old, new):
        part.write_bytes(b"the beginning")
    os.utime(old, (1e9, 1e9))
    store.write("one.nbc", b"one")
    assert [path.name for path in files_in(store.folder)] == ["one.nbc", new.name]


def no_space(descriptor, mode):
    os.close(descriptor)
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_only_costs_the_next_start(store, monkeypatch):
    with monkeypatch.context() as full:
        real = os.fdopen
        full.setattr(os, "fdopen", lambda file, mode: real(file, mode) if mode == "rb" else no_space(file, mode))
        assert uses(monkeypatch, store) == (0, 1)
    assert files_in(store.folder) == []


def test_without_space_for_a_key_nothing_is_kept(cache, key_path, monkeypatch):
    monkeypatch.setattr(os, "fdopen", no_space)
    refused(f"{key_path} can be neither read nor made .No space left on device")
    assert files_in(cache.parent) == []


def read_only(*_, **__):
    raise OSError(errno.EROFS, "Read-only file system")


def test_a_warm_cache_on_a_file_system_that_can_only_be_read_is_used(cache, monkeypatch):
    warm = opened()
    assert uses(monkeypatch, warm) == (0, 1)
    (warm.folder / TAG).unlink()
    real = os.open
    for name in ("utime", "mkdir", "link", "replace", "unlink"):
        monkeypatch.setattr(os, name, read_only)
    monkeypatch.setattr(os, "open", lambda path, flags, *mode: read_only() if flags & os.O_CREAT else real(path, flags))
    assert opened() == warm
    assert uses(monkeypatch, opened()) == (1, 0)
    compiled = jit.kernel(double)
    assert compiled(1.5) == 3.0  # of other types: compiled, and not kept
    assert len(files_in(warm.folder)) == 1


@pytest.mark.skipif(os.name != "posix", reason="there are no modes to take away")
def test_a_user_who_may_only_read_a_warm_cache_uses_it():
    base = Path(tempfile.mkdtemp(prefix="stumpery-"))  # where another user gets to, unlike a test's own folder
    try:
        script, cache, key = base / "script.py", base / "cache", base / "state" / "kernels.key"
        shutil.copyfile(PROGRAMS / "double.py", script)
        script.chmod(0o644)
        if os.geteuid() == 0:
            os.chown(base, 65534, 65534)
        command = command_of("as_nobody.py", script, cache, key)

        def second_use():
            return support.output_of(command, environment("/dev/null/none")).splitlines()[1]

        assert second_use() == "42 0 1"
        kept = files_in(cache)
        before = [path.stat().st_mtime_ns for path in kept]
        assert len(kept) == 2
        for path in sorted((*cache.rglob("*"), *key.parent.rglob("*")), reverse=True):
            path.chmod(0o500 if path.is_dir() else 0o400)
        assert second_use() == "42 1 0"
        assert files_in(cache) == kept
        assert [path.stat().st_mtime_ns for path in kept] == before
    finally:
        for path in sorted(base.rglob("*")):
            path.chmod(0o700)
        shutil.rmtree(base)


def made_folder(path, age):
    path.mkdir(parents=True)
    (path / TAG).write_bytes(TAG_CONTENT)
    (path / "code.nbc").write_bytes(b"x")
    (path / "code.nbc.1.tmp").write_bytes(b"x")
    os.utime(path, (1e9 - age, 1e9 - age))
    return path


def test_old_caches_are_forgotten_and_the_newest_kept(cache):
    old = [made_folder(cache / "kernels" / f"{age:016x}", age) for age in range(N_CACHES_KEPT + 3)]
    current = opened().folder
    kept = sorted((cache / "kernels").iterdir())
    assert kept == sorted([current, *old[: N_CACHES_KEPT - 1]])
    assert all((folder / "code.nbc").exists() for folder in kept if folder != current)


def test_only_folders_that_were_made_here_are_deleted(cache, tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_cache, "N_CACHES_KEPT", 1)
    kernels = cache / "kernels"
    own = made_folder(kernels / "my notes", 1)
    untagged = made_folder(kernels / f"{1:016x}", 2)
    (untagged / TAG).unlink()
    tagged_by_others = made_folder(kernels / f"{2:016x}", 3)
    (tagged_by_others / TAG).write_bytes(TAG_CONTENT.splitlines(keepends=True)[0])
    target = made_folder(tmp_path / f"{3:016x}", 4)
    (kernels / target.name).symlink_to(target)
    (kernels / "list.txt").write_text("a file")
    with_notes = made_folder(kernels / f"{4:016x}", 5)
    (with_notes / "notes").write_text("mine")
    old = made_folder(kernels / f"{5:016x}", 6)
    opened()
    assert not old.exists()
    for folder in (own, untagged, tagged_by_others, target):
        assert (folder / "code.nbc").exists()
    assert (kernels / target.name).is_symlink()
    assert (kernels / "list.txt").read_text() == "a file"
    assert [path.name for path in with_notes.iterdir()] == ["notes"]


def test_numbas_own_settings_are_untouched_and_not_followed(tmp_path):
    code = "import numba, stumpery.policies; print(numba.config.CACHE_DIR)\n" + USE_CACHE
    own = {"NUMBA_CACHE_DIR": str(tmp_path / "own"), "NUMBA_CACHE_LOCATOR_CLASSES": "InTreeCacheLocator"}
    assert run_code(code, tmp_path / "ours", **own).split() == [own["NUMBA_CACHE_DIR"], "0", "2"]
    assert run_code(code, tmp_path / "ours", **own).split() == [own["NUMBA_CACHE_DIR"], "2", "0"]
    assert not (tmp_path / "own").exists()
