"""Damaged logs: whatever bytes come, lenient reading goes on, and strict reading refuses by our own exception."""

import gzip
import json

import numpy as np
import pytest
from tests.logs.test_dsjson import event, written
from tests.logs.test_text_and_tables import ADF, CB

import stumpery as st

CASES = 60
OWN = [
    {"format": "stumpery-log", "version": 1, "actions": ["a", "b"], "reward_range": [0.0, 1.0]},
    *(
        {"action": "ab"[n % 2], "probability": 0.5, "reward": 1.0, "context": {"x": n, "u": {"v": "w"}}}
        for n in range(20)
    ),
]
CSV = "shown,won,p,hour\n" + "".join(f"{'ab'[n % 2]},{n % 2},0.5,{n}\n" for n in range(20))
NAMES = {"action": "shown", "reward": "won", "probability": "p"}
PIECES = [
    b'"',
    b"{",
    b"}",
    b"[",
    b"null",
    b"-1e999",
    b"NaN",
    b"\x00",
    b"\xff",
    b"|",
    b":",
    b"\n",
    b"1",
    b"true",
    b"\\u",
    b",",
]


def contents(tmp_path):
    """A small log in each format, with the options to read it."""
    dsjson = written(tmp_path, [event(n) for n in range(20)]).read_bytes()
    own = "".join(json.dumps(row) + "\n" for row in OWN).encode()
    return {
        "dsjson": (dsjson, {}),
        "cb": (CB.encode() * 5, {}),
        "cb_adf": ((ADF + "\n").encode() * 5, {}),
        "stumpery": (own, {}),
        "table": (CSV.encode(), NAMES),
    }


def damaged(content, rng):
    """A few bytes replaced, cut, doubled or put in."""
    for _ in range(rng.integers(1, 6)):
        start = int(rng.integers(0, len(content)))
        end = start + int(rng.integers(0, 12))
        piece = PIECES[rng.integers(0, len(PIECES))] if rng.random() < 0.7 else content[start : start + 40]
        content = content[:start] + piece + content[end:]
    return content


@pytest.mark.parametrize("kind", ["dsjson", "cb", "cb_adf", "stumpery", "table"])
@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_damaged_files_never_crash(kind, compress, tmp_path):
    whole, options = contents(tmp_path)[kind]
    path = tmp_path / "damaged"
    for case in range(CASES if compress is bytes else CASES // 4):
        rng = np.random.default_rng(case)
        path.write_bytes(damaged(compress(whole), rng))
        for on_error in ("lenient", "strict"):
            try:
                log = st.logs.read(path, format=kind, on_error=on_error, **options)
                for chunk in log.chunks(7):
                    assert len(chunk.contexts) == len(chunk) == len(chunk.probabilities), case
                    known = chunk.probabilities[~np.isnan(chunk.probabilities)]
                    assert ((known > 0) & (known <= 1)).all(), case
                    assert not np.isinf(chunk.rewards).any(), case
                    assert (chunk.actions < len(log.actions)).all(), case
            except st.StumperyError as error:
                assert "\n" not in str(error), case
