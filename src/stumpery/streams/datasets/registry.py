"""Every dataset that Stumpery can load by name."""

from collections.abc import Mapping
from types import MappingProxyType

from stumpery.options import check_known
from stumpery.streams.datasets.dataset import Dataset, names, numbers
from stumpery.streams.datasets.registry_open_bandit import OPEN_BANDIT
from stumpery.streams.datasets.registry_uci import UCI


def find(name: str) -> Dataset:
    """The entry of that name; an InvalidInput names those that come close.

    Args:
        name: The dataset's name.

    >>> find("nursery").n_rows
    12960
    """
    check_known("dataset", name, DATASETS)
    return DATASETS[name]


def _libsvm(name: str, title: str, n_features: int, counts: tuple[int, int], n_train: int, sha256: str) -> Dataset:
    site = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
    return Dataset(
        name=name,
        title=title,
        columns=numbers("label", *(f"f{feature}" for feature in range(1, n_features + 1))),
        target="label",
        n_rows=sum(counts),
        class_counts={"-1": counts[0], "1": counts[1]},
        origin=(f"{site}/{name}", f"{site}/{name}.t"),
        format="libsvm",
        licence="not stated",
        citation="Platt (1998), Fast training of support vector machines, from the LIBSVM data page",
        note=f"Every feature is a bit; the first {n_train:,} rows are the training part.",
        sha256=sha256,
    )


LIBSVM = (
    _libsvm(
        "a8a",
        "The training part of adult in bits, in another order",
        123,
        (24_720, 7_841),
        22_696,
        "6fc301d7a36fb797a707e241ef59c4cd5d9738931722291352d7c4034a9a104a",
    ),
    _libsvm(
        "a9a",
        "adult in bits",
        123,
        (37_155, 11_687),
        32_561,
        "d45382eb8ed35289894aba5049dc71e5e7b1128a2873fa45bce8f72a49090c4d",
    ),
    _libsvm(
        "w8a",
        "Categories of web pages by their words",
        300,
        (62_767, 1_933),
        49_749,
        "4140b494c9acf126f9f128105cc6981a9d9ea59319b915c1f21b48c3396147be",
    ),
)

ELECTRICITY = Dataset(
    name="electricity",
    title="Rise and fall of the price of electricity in New South Wales",
    columns=(
        *numbers("date day period nswprice nswdemand vicprice vicdemand transfer"),
        *names("class"),
    ),
    target="class",
    n_rows=45_312,
    class_counts={"DOWN": 26_075, "UP": 19_237},
    origin=("https://openml.org/data/v1/download/2419/electricity.arff",),
    format="arff",
    licence="public, not stated further",
    citation="Harries (1999), Splice-2 comparative evaluation: electricity pricing",
    note="In order of time; the numbers are scaled to 0..1, the day of the week is 1..7.",
    sha256="b93e82c4e2d54d8d108c19909e0f34f7cadf3e2133c8e34a55f21a96f7dd75f4",
)

DIGITS = Dataset(
    name="digits",
    title="Handwritten digits, 8 by 8 pixels",
    columns=numbers(*(f"pixel_{row}_{column}" for row in range(8) for column in range(8)), "digit"),
    target="digit",
    n_rows=1_797,
    class_counts=dict(zip("0123456789", (178, 182, 177, 183, 181, 182, 181, 179, 174, 180), strict=True)),
    format="scikit-learn",
    licence="CC BY 4.0",
    citation="Alpaydin and Kaynak (1998), Optical Recognition of Handwritten Digits, UCI Machine Learning Repository",
    note="Comes with scikit-learn and needs no network; a pixel is 0..16.",
    sha256="d81bd7273453337870e3fe3af009dc3e7b2dbe4336fc6266dc312c0d51ac1c4e",
)

DATASETS: Mapping[str, Dataset] = MappingProxyType(
    {dataset.name: dataset for dataset in (*UCI, *LIBSVM, ELECTRICITY, *OPEN_BANDIT, DIGITS)}
)
