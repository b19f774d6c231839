"""The directory and the files of the disk cache: whose they are, how many, and what is damaged."""

from __future__ import annotations

import errno
import os
import stat
import warnings
from importlib import import_module
from pathlib import Path

import pytest

import executorkit as mx
from executorkit.program.disk_cache import directory, switch
from executorkit.program.disk_cache.store import DiskCache, digest

#: The package has a function of this name.
fingerprint = import_module("executorkit.program.disk_cache.fingerprint")
A, B, C, D = (f"{digest(letter)}.program" for letter in "abcd")


@pytest.fixture
def undecided(monkeypatch, tmp_path):
    """No choice of a directory has been made, and nothing in the environment makes one."""
    monkeypatch.setattr(switch, "_choice", None)
    monkeypatch.delenv("EXECUTORKIT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


# -- the directory ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/elsewhere"}, "/elsewhere/executorkit"),
        ("linux", {}, "/home/ann/.cache/executorkit"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "/home/ann/.cache/executorkit"),
        ("darwin", {}, "/home/ann/Library/Caches/executorkit"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/executorkit"),
        ("win32", {}, None),
    ],
)
def test_it_is_in_the_users_cache_directory(monkeypatch, platform, variable, expected):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, text in {"HOME": "/home/ann", **variable}.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setattr(directory.sys, "platform", platform)
    assert directory.default_directory() == (expected and Path(expected))


@pytest.mark.usefixtures("undecided")
def test_it_is_made_for_its_owner_alone(tmp_path):
    before = os.umask(0o002)
    try:
        info = mx.program.disk_cache_info()
        switch.active_disk_cache().write(A, {}, b"x")
    finally:
        os.umask(before)
    path = tmp_path / "cache" / "executorkit"
    assert (info.directory, info.enabled, info.reason) == (str(path), True, "by default")
    assert mode(path.parent) == mode(path) == 0o700
    assert mode(path / A) == 0o600


@pytest.mark.parametrize(("permissions", "refused"), [(0o755, False), (0o770, True), (0o707, True)])
@pytest.mark.usefixtures("undecided")
def test_one_that_others_can_write_to_is_refused_with_one_warning(tmp_path, permissions, refused):
    path = tmp_path / "cache" / "executorkit"
    path.mkdir(parents=True)
    path.chmod(permissions)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            assert mx.program.disk_cache_info().enabled is not refused
    texts = [str(warning.message) for warning in caught]
    assert texts == refused * [
        f"compiled programs are not kept in {path}: other users can write to it; "
        "EXECUTORKIT_CACHE_DIR names another directory, or, empty, none"
    ]


@pytest.mark.usefixtures("undecided")
def test_one_of_another_user_is_refused(monkeypatch):
    monkeypatch.setattr(directory.os, "geteuid", lambda: os.getuid() + 1)
    with pytest.warns(UserWarning, match="it belongs to another user"):
        assert not mx.program.disk_cache_info().enabled


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch], ids=["link", "file"])
@pytest.mark.usefixtures("undecided")
def test_a_link_and_a_file_are_refused(tmp_path, make):
    path = tmp_path / "cache" / "executorkit"
    path.parent.mkdir()
    target = tmp_path / "target"
    make(target)
    if make is Path.mkdir:
        path.symlink_to(target)
    else:
        path.touch()
    with pytest.warns(UserWarning, match="it is a link|it is not a directory"):
        assert not mx.program.disk_cache_info().enabled


@pytest.mark.usefixtures("undecided")
def test_where_none_can_be_made_the_default_is_silent_and_a_named_one_warns(tmp_path, monkeypatch):
    (tmp_path / "cache").touch()
    assert "Not a directory" in mx.program.disk_cache_info().reason
    with pytest.warns(UserWarning, match="Not a directory"):
        mx.program.enable_disk_cache(tmp_path / "cache" / "folder")
    monkeypatch.setattr(switch, "default_directory", lambda: None)
    mx.program.enable_disk_cache()
    assert mx.program.disk_cache_info().reason == "a home directory is missing"


@pytest.mark.usefixtures("undecided")
def test_the_environment_and_functions_switch_it(tmp_path, monkeypatch):
    monkeypatch.setenv("EXECUTORKIT_CACHE_DIR", "")
    info = mx.program.disk_cache_info()
    assert (info.directory, info.enabled) == (None, False)
    assert info.reason == "EXECUTORKIT_CACHE_DIR is empty"
    mx.program.enable_disk_cache(tmp_path / "own")
    assert mx.program.disk_cache_info().directory == str(tmp_path / "own")
    mx.program.enable_disk_cache()
    assert mx.program.disk_cache_info().directory == str(tmp_path / "cache" / "executorkit")
    mx.program.disable_disk_cache()
    assert mx.program.disk_cache_info().reason == "disable_disk_cache()"
    monkeypatch.setattr(switch, "_choice", None)
    monkeypatch.setenv("EXECUTORKIT_CACHE_DIR", str(tmp_path / "named"))
    assert mx.program.disk_cache_info().reason == "EXECUTORKIT_CACHE_DIR names it"


# -- its files -------------------------------------------------------------------------------------


def test_files_that_were_used_longest_ago_go_first(tmp_path):
    files = DiskCache(tmp_path, max_bytes=4 * 4096)
    for name, used in {A: 3, B: 1, C: 2}.items():
        files.write(name, {}, b"x")
        os.utime(tmp_path / name, (used, used))
    assert files.read(B) == ({}, b"x")
    files.write(D, {}, b"x")
    assert {path.name for path in tmp_path.iterdir()} == {A, B, D}


def test_what_takes_half_of_the_room_is_not_stored(tmp_path):
    files = DiskCache(tmp_path, max_bytes=8 * 4096)
    files.write(A, {}, os.urandom(5 * 4096))
    files.write(B, {}, os.urandom(3 * 4096))
    assert [file.path.name for file in files.files()] == [B]


def test_leftovers_of_killed_writers_go_when_files_are_counted(tmp_path):
    old, new = (tmp_path / f"{B}.{digit * 8}-1-{digit * 8}.tmp" for digit in "01")
    for path in (old, new):
        path.touch()
    os.utime(old, (0, 0))
    DiskCache(tmp_path).write(A, {}, b"x")
    assert {path.name for path in tmp_path.iterdir()} == {A, new.name}


@pytest.mark.parametrize(
    "damage",
    [
        lambda b: b[:-1], lambda b: b"?" + b, lambda b: b"", lambda b: b[: b.index(b"\n")],
        lambda b: b.replace(b'"a": 1', b'"a": 2'), lambda b: b"[]" + b, lambda b: bytes(len(b)),
        lambda b: b.replace(b'"format": 2', b'"format": 1'),
    ],
)  # fmt: skip
def test_a_damaged_file_counts_as_missing_and_is_deleted(tmp_path, damage):
    files = DiskCache(tmp_path)
    files.write(A, {"a": 1}, b"contents")
    assert files.read(A) == ({"a": 1}, b"contents")
    path = tmp_path / A
    path.write_bytes(damage(path.read_bytes()))
    assert files.read(A) is None
    assert not path.exists()


def test_a_file_under_another_name_counts_as_missing(tmp_path):
    files = DiskCache(tmp_path)
    files.write(A, {}, b"contents")
    (tmp_path / A).rename(tmp_path / B)
    assert files.read(B) is None


def test_a_file_that_others_can_write_counts_as_missing(tmp_path):
    files = DiskCache(tmp_path)
    for name in (A, B, C):
        files.write(name, {}, b"x")
    (tmp_path / A).chmod(0o620)
    (tmp_path / B).unlink()
    (tmp_path / B).symlink_to(tmp_path / C)
    assert [files.read(name) for name in (A, B, C)] == [None, None, ({}, b"x")]


def test_a_directory_that_cannot_be_written_warns_once(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    files = DiskCache(tmp_path / "file" / "folder", warns=True)
    with pytest.warns(UserWarning, match="the disk cache cannot be written"):
        files.write(A, {}, b"x")
    files.write(A, {}, b"x")
    assert files.read(A) is None


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_full_or_read_only_disk_stops_storing_and_nothing_else(tmp_path, monkeypatch, code):
    files = DiskCache(tmp_path)
    files.write(A, {}, b"x")
    calls = []

    def fail(*_):
        calls.append(code)
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("executorkit.program.disk_cache.store.write_private", fail)
    files.write(B, {}, b"x")
    files.write(C, {}, b"x")
    assert calls == [code]
    assert files.why_not_written() == f"[Errno {code}] {os.strerror(code)}"
    assert files.read(A) == ({}, b"x")


def test_a_directory_that_becomes_unsafe_stops_storing(tmp_path):
    files = DiskCache(tmp_path / "own")
    files.write(A, {}, b"x")
    (tmp_path / "own").chmod(0o777)
    files.write(B, {}, b"x")
    assert files.why_not_written() == "other users can write to it"


def test_a_deleted_directory_is_made_again(tmp_path):
    files = DiskCache(tmp_path / "own")
    files.write(A, {}, b"x")
    files.clear()
    (tmp_path / "own").rmdir()
    assert files.read(A) is None
    files.write(A, {}, b"x")
    assert files.read(A) == ({}, b"x")


@pytest.mark.usefixtures("undecided")
def test_the_code_of_the_package_is_read_once_for_all_processes(monkeypatch):
    first = fingerprint._package_hash()
    monkeypatch.setattr("builtins.open", None)
    assert fingerprint._package_hash() == first


def test_modules_that_were_changed_have_no_fingerprint(monkeypatch):
    monkeypatch.setattr(fingerprint, "_IMPORTED", 0)
    with pytest.raises(mx.errors.NotFingerprintableError):
        fingerprint._package_hash()
    assert fingerprint.cached_answer("a question of a test", lambda: True)
