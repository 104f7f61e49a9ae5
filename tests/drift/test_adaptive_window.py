"""ADWIN, the adaptive window, against its slow twin."""

import numpy as np
import pytest
from tests.reference.adwin import DRIFT, STEADY, WARNING, AdaptiveWindow

from stumpery.drift import adaptive_window_kernels as drift
from stumpery.jit import INTERPRETED, kernel

RESULTS = {drift.NO_DRIFT: STEADY, drift.WARNING: WARNING, drift.DRIFT: DRIFT}
pytestmark = [pytest.mark.kernels, pytest.mark.plain]


@kernel
def step(windows, error, warning, threshold):
    """Add an error and check."""
    drift.update(windows, 0, error)
    return drift.detect(windows, 0, warning, threshold)


@pytest.mark.parametrize("shares", [(0.2, 0.6), (0.6, 0.1), (0.3, 0.36), (0.0, 0.0)], ids=str)
def test_the_window_equals_its_slow_twin(shares):
    n = 300 if INTERPRETED else 1500
    rng = np.random.default_rng(1)
    windows, twin = drift.new_windows(1), AdaptiveWindow()
    found = []
    for share in shares:
        for _ in range(n):
            error = float(rng.random() < share)
            twin.add(error)
            found.append(RESULTS[step(windows, error, 0.01, 0.001)])
            assert found[-1] == twin.test(0.01, 0.001)
    assert (DRIFT in found) == (shares == (0.2, 0.6))
    if shares[0] == 0.6:  # fewer errors are no drift, but what came before is forgotten
        assert windows.fills[0] @ 2 ** np.arange(drift.N_SIZES) < 1.5 * n
