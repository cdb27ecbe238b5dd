"""Bytes read past the system's cache are those of the file, wherever they begin and end."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.files import direct_reading
from maxmargin.files.direct_reading import read_bytes

SIZE = 50_001


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("bytes") / "file"
    path.write_bytes(np.random.default_rng(0).bytes(SIZE))
    return path


@settings(max_examples=100, deadline=None)
@given(place=st.integers(0, SIZE + 5000), size=st.integers(0, SIZE + 5000), cached=st.booleans())
def test_the_bytes_are_those_of_the_file(file, place, size, cached):
    found = read_bytes(file, place, size, cached=cached)
    assert found.tobytes() == file.read_bytes()[place : place + size]


def test_a_file_system_without_direct_reading_is_read_all_the_same(file, monkeypatch):
    tried = []

    def refuse(path, *_):
        tried.append(path)
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(direct_reading, "_read_directly", refuse)
    assert read_bytes(file, 10, 9000, cached=False).tobytes() == file.read_bytes()[10:9010]
    assert bool(tried) == hasattr(os, "O_DIRECT")


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_bytes(tmp_path / "none", 0, 8192, cached=False)
