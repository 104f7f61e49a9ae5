"""Functions and classes that tests run in workers: these import them."""

import os
import signal
from pathlib import Path

import numpy as np


def doubled(number, advance):
    for _ in range(number):
        advance(1)
    return 2 * number


def sum_of(constant, number, advance):
    return constant + number


def failing(number, advance):
    if number == 3:
        raise ValueError("three is one too many")
    return number


def killed_once(path, advance):
    """Kills its own process the first time."""
    advance(5)
    if not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    advance(5)
    return "done"


def killed(number, advance):
    os.kill(os.getpid(), signal.SIGKILL)


def total_of(argument, advance):
    """The sum of a value that was put, times a number."""
    number, shared = argument
    return number * float(shared.get().sum())


def process_of(number, advance):
    return os.getpid()


class UnreadableError(Exception):
    """An exception that pickle writes and cannot read."""

    def __init__(self, one, other):
        super().__init__(one)


def raising_unreadable(number, advance):
    raise UnreadableError(1, 2)


class Counter:
    """An actor."""

    def __init__(self, start):
        self.n = start

    def add(self, n):
        self.n += n
        return self.n

    def fail(self):
        raise ValueError("not this one")

    def pid(self):
        return os.getpid()

    def die(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def sum_of(self, shared):
        return float(np.sum(shared.get()))
