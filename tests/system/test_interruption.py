"""Ctrl-C waits for the end of a block."""

import signal
import threading

import pytest

from stumpery.system.interruption import defer_interrupts


def test_an_interruption_comes_after_the_block_and_then_at_once_again():
    done = []
    with pytest.raises(KeyboardInterrupt):
        with defer_interrupts():
            signal.raise_signal(signal.SIGINT)
            done.append("the block")
        done.append("what follows")
    assert done == ["the block"]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_an_error_in_the_block_leaves_the_handler_as_it_was():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), defer_interrupts():
        1 / 0  # noqa: B018
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_go_their_way():
    done = []

    def work():
        with defer_interrupts():
            done.append("the block")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == ["the block"]
