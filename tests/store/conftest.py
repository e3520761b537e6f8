"""Ctrl-C as in a terminal, for all tests of files."""

import signal

import pytest


@pytest.fixture(autouse=True)
def ctrl_c():
    """Python's own handler of SIGINT: a shell lets what it runs in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
