"""Whether every public model gives the same bits as an earlier version, however it was moved and renamed since.

    python -m tests.contracts.digests          # compare: say which cases differ, and exit with 1 if any does
    python -m tests.contracts.digests record   # write them anew, after a deliberate change of behaviour

A case is a model's class, and how it is played where there are several ways; a class that is renamed renames its cases
in the JSON file. Each case has SHA-256 digests, of which the first 16 digits are kept:

- `decisions`: actions, predictions and estimates;
- `probabilities`;
- `arrays`: dtypes, shapes and bytes of all saved arrays, each digested without its name, and the digests sorted.
  So arrays may be renamed and come in another order, but not be split, merged or laid out anew.

Options and explanations are left out: their words may change.

Logarithms and exponentials come from the C library, NumPy and jax, which choose code by the processor: their last bits
may differ between machines. So a fingerprint of all that stands beside the digests.

jax's library of matrix products chooses code by more of the processor than the fingerprint names, so that equal
fingerprints may give unequal bits: of the trees that it trains only the decisions are compared.
"""

import hashlib
import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path

from llvmlite import binding
from tests.contracts.every_model import all_cases, arrays_of, digest_of
from tests.contracts.long_plays import long_cases

PATH = Path(__file__).parents[1] / "fixtures" / "digests.json"
RECORD = "python -m tests.contracts.digests record"
N_DIGITS = 16
CPU_FEATURES = ("fma", "avx2", "avx512f", "avx512dq", "neon", "sve")  # by which libraries choose their code
TRAINED_BY_JAX = ("ActorCriticTree", "DQNTree")
LIBRARIES = ("numpy", "numba", "llvmlite", "jax", "jaxlib")


def fingerprint():
    """What the last bits of results may depend on, beside our code."""
    features = binding.get_host_cpu_features()
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu features": " ".join(name for name in CPU_FEATURES if features.get(name)),
        "C library": " ".join(platform.libc_ver()),
        "python": platform.python_version().rpartition(".")[0],
        **{name: version(name) for name in LIBRARIES},
    }


def other_machine(recorded):
    """What differs between here and where the digests were recorded, as a sentence; nothing where all is equal."""
    here = fingerprint()
    differs = [
        f"{name} {here[name]!r} instead of {recorded.get(name)!r}" for name in here if here[name] != recorded.get(name)
    ]
    return differs and (
        f"the digests were recorded elsewhere, and last bits may differ here: {', '.join(differs)}; "
        f"to compare on this machine, check out the earlier version and run `{RECORD}`, then compare"
    )


def digests_of(said):
    """The digests of a case."""
    arrays = hashlib.sha256("".join(sorted(digest_of(array) for array in arrays_of(said))).encode()).hexdigest()
    found = {"decisions": digest_of(said.decisions), "probabilities": digest_of(said.probabilities), "arrays": arrays}
    return {part: digest[:N_DIGITS] for part, digest in found.items()}


def all_digests():
    found = {label: digests_of(play()) for cases in (all_cases(), long_cases()) for label, play in cases}
    return found | {label: {"decisions": found[label]["decisions"]} for label in TRAINED_BY_JAX}


def read():
    """The recorded digests, and the fingerprint of where that was."""
    recorded = json.loads(PATH.read_text())
    return recorded["digests"], recorded["fingerprint"]


def record():
    """Write the digests, a line for each case."""
    cases = [f"    {json.dumps(label)}: {json.dumps(each)}" for label, each in sorted(all_digests().items())]
    lines = ["{", f'  "fingerprint": {json.dumps(fingerprint())},', '  "digests": {', ",\n".join(cases), "  }", "}", ""]
    PATH.write_text("\n".join(lines))


def differences(recorded, found):
    """A line for each case that is not as it was recorded."""
    lines = [f"{label}: new, not recorded" for label in found.keys() - recorded.keys()]
    lines += [f"{label}: recorded, but not played" for label in recorded.keys() - found.keys()]
    for label in found.keys() & recorded.keys():
        parts = [part for part, digest in found[label].items() if recorded[label].get(part) != digest]
        lines += [f"{label}: {', '.join(parts)} differ"] if parts else []
    return sorted(lines)


def compare():
    """Print what differs; whether nothing does."""
    recorded, where = read()
    if reason := other_machine(where):
        print(f"note: {reason}")
    found = all_digests()
    lines = differences(recorded, found)
    print("\n".join([*lines, f"{len(lines)} of {len(found)} cases differ"]))
    return not lines


def main(arguments):
    if arguments not in ([], ["compare"], ["record"]):
        sys.exit(f"usage: {RECORD.removesuffix('record')}[compare|record]")
    if arguments == ["record"]:
        record()
    elif not compare():
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
