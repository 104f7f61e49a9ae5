"""Covertype and Adult, recoded as in the Bandit Forest paper."""

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from stumpery.encoding import BitEncoder, CodeEncoder, Schema

pytestmark = pytest.mark.data


def read(name):
    folder = os.environ.get("STUMPERY_DATA")
    if not folder:
        pytest.skip("STUMPERY_DATA names no folder of Parquet files")
    return pl.read_parquet(Path(folder) / f"{name}.parquet")


@pytest.fixture(scope="module")
def covertype():
    return read("covtype").drop("Cover_Type")


def test_covertype_gives_94_bits_of_which_12_are_set(covertype):
    bits = BitEncoder(schema=Schema.infer(covertype)).encode_many(covertype)
    assert bits.shape == (581_012, 94)
    assert (bits.sum(axis=1) == 12).all()


def test_the_first_thousand_rows_of_covertype_already_give_94_bits(covertype):
    assert BitEncoder(schema=Schema.infer(covertype[:1000])).width == 94


def test_five_bins_of_a_continuous_column_hold_a_fifth_each_up_to_ties(covertype):
    encoder = BitEncoder(schema=Schema.infer(covertype))
    shares = encoder.encode_many(covertype)[:, :50].mean(axis=0).reshape(10, 5)
    for name, share in zip(covertype.columns, shares, strict=False):
        largest_tie = np.unique(covertype[name], return_counts=True)[1].max() / len(covertype)
        assert np.abs(share - 0.2).max() <= largest_tie


def test_one_row_of_covertype_equals_its_row_among_many(covertype):
    few = covertype.sample(200, seed=1)
    encoder = CodeEncoder(schema=Schema.infer(covertype[:5000]))
    one_by_one = [encoder.encode_one(row) for row in few.iter_rows(named=True)]
    np.testing.assert_array_equal(encoder.encode_many(few), one_by_one)


def test_adult_without_occupation_gives_119_bits():
    adult = read("adult").drop("occupation", "split")
    assert BitEncoder(schema=Schema.infer(adult)).width == 119
    assert BitEncoder(schema=Schema.infer(adult.drop("income"))).width == 117
