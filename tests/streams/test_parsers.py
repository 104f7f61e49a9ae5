import gzip
from dataclasses import replace
from datetime import UTC, datetime

import polars as pl
import pytest

from stumpery.streams.datasets import parquet, parsers, registry
from stumpery.streams.datasets.dataset import Column, Dataset, Format, names, numbers


def small(format: Format, columns: tuple[Column, ...]) -> Dataset:  # noqa: A002
    return replace(registry.find("nursery"), name="small", format=format, columns=columns)


def read(dataset: Dataset, *files: bytes) -> pl.DataFrame:
    return parquet.conform(parsers.parse(dataset, files), dataset)


def test_csv_without_a_header_reads_numbers_names_and_missing_values() -> None:
    frame = read(small("csv", (*numbers("x y"), *names("z"))), b"1,0.5,red\n2,?,?\n\n", b"300,1.25,blue\n")
    assert frame.rows() == [(1, 0.5, "red"), (2, None, None), (300, 1.25, "blue")]
    assert frame.dtypes == [pl.Int16, pl.Float32, pl.String]


def test_a_gzip_file_is_unpacked() -> None:
    assert read(small("csv", numbers("x y")), gzip.compress(b"1,2\n")).rows() == [(1, 2)]


def test_csv_with_a_header_keeps_the_declared_columns() -> None:
    frame = read(small("csv with header", numbers("caseid dAge")), b"dAge,other,caseid\n5,x,10000\n6,y,10001\n")
    assert frame.rows() == [(10000, 5), (10001, 6)]


def test_adult_loses_its_spaces_its_full_stops_and_its_remark() -> None:
    person = b"39, State-gov, 77516, Bachelors, 13, Never-married, ?, Not-in-family, White, Male, 2174, 0, 40, ?, "
    data = person + b"<=50K\n\n"
    test = b"|1x3 Cross validator\n" + person + b">50K.\n\n"
    frame = read(registry.find("adult"), data, test)
    assert frame["income"].to_list() == ["<=50K", ">50K"]
    assert frame["workclass"].to_list() == ["State-gov"] * 2
    assert frame["fnlwgt"].to_list() == [77516] * 2
    assert frame["occupation"].null_count() == frame["native-country"].null_count() == 2


def test_any_white_space_may_part_numbers() -> None:
    assert read(registry.find("skin"), b"74\t85\t123\t1\n73 84  122 2\r\n").rows() == [
        (74, 85, 123, 1),
        (73, 84, 122, 2),
    ]


def test_libsvm_is_made_dense() -> None:
    frame = read(small("libsvm", numbers("label f1 f2 f3")), b"-1 1:1 3:0.5 \n+1\n", b"+1 2:1\n")
    assert frame.rows() == [(-1, 1, 0, 0.5), (1, 0, 0, 0.0), (1, 0, 1, 0.0)]


def test_arff_is_read_by_its_attributes() -> None:
    text = b"""% remark
@relation electricity
@attribute date numeric
@ATTRIBUTE day {1,2,3}
@attribute 'class' {UP,DOWN}

@DATA
0,2,UP
% remark
0.5,3,'DOWN'
"""
    frame = read(small("arff", (*numbers("date day"), *names("class"))), text)
    assert frame.rows() == [(0.0, 2, "UP"), (0.5, 3, "DOWN")]
    assert frame.dtypes == [pl.Float32, pl.Int8, pl.String]


def test_open_bandit_logs_say_which_policy_chose_and_when() -> None:
    header = b",timestamp,item_id,propensity_score,user_feature_0\n"
    columns = (
        *names("behavior_policy"),
        Column("timestamp", "time"),
        *numbers("item_id propensity_score"),
        *names("user_feature_0"),
    )
    frame = read(
        small("open bandit", columns),
        header + b"0,2019-11-24 00:00:34.762830+00:00,14,0.0125,81ce\n",
        header + b"0,2019-11-24 01:00:00+00:00,3,0.25,03a5\n",
    )
    assert frame["behavior_policy"].to_list() == ["random", "bts"]
    assert frame["timestamp"].to_list() == [
        datetime(2019, 11, 24, 0, 0, 34, 762830, tzinfo=UTC),
        datetime(2019, 11, 24, 1, tzinfo=UTC),
    ]
    assert frame["propensity_score"].to_list() == pytest.approx([0.0125, 0.25])


@pytest.mark.parametrize(
    ("format_", "content"),
    [
        ("csv", b"red,2\n"),
        ("csv", gzip.compress(b"1,2\n" * 1000, mtime=0)[:-20]),
        ("csv", gzip.compress(b"1,2\n" * 1000, mtime=0)[:12] + b"\xff" * 40),
        ("spaces", b"1 2 3\n"),
        ("spaces", b"<html>404</html>\n"),
        ("libsvm", b"1 2:1\n"),
        ("libsvm", b"1 one\n"),
        ("arff", b"@attribute x numeric\n1,2\n"),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(format_: Format, content: bytes) -> None:
    with pytest.raises(ValueError, match=r"^the files of small do not read as [^\n]+$"):
        parsers.parse(small(format_, numbers("x y")), [content])


def test_a_lacking_column_and_a_wrong_kind_are_named() -> None:
    dataset = small("csv", (*numbers("x"), *names("y")))
    with pytest.raises(ValueError, match="small should have the columns y, which"):
        parquet.conform(pl.DataFrame({"x": [1]}), dataset)
    with pytest.raises(ValueError, match="column y of small should hold names, not Int64"):
        parquet.conform(pl.DataFrame({"x": [1], "y": [1]}), dataset)
