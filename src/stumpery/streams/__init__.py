"""Streams of events: datasets, generators of bandit problems, transforms."""

from stumpery.streams import transforms
from stumpery.streams.arms import BernoulliArms, GaussianArms
from stumpery.streams.catalogue import Catalogue
from stumpery.streams.classification import ClassificationBandit
from stumpery.streams.click_log import ClickLog, ClickRows
from stumpery.streams.datasets.dataset import Column, Dataset
from stumpery.streams.datasets.load import available as available_datasets
from stumpery.streams.datasets.load import fetch as fetch_dataset
from stumpery.streams.datasets.load import load as load_dataset
from stumpery.streams.datasets.load import path as dataset_path
from stumpery.streams.datasets.load import verify as verify_dataset
from stumpery.streams.datasets.registry import DATASETS
from stumpery.streams.datasets.registry import find as find_dataset
from stumpery.streams.poker_hands import PokerHands, poker_class
from stumpery.streams.shop import Shop
from stumpery.streams.tree_problem import TreeProblem

__all__ = [
    "DATASETS",
    "BernoulliArms",
    "Catalogue",
    "ClassificationBandit",
    "ClickLog",
    "ClickRows",
    "Column",
    "Dataset",
    "GaussianArms",
    "PokerHands",
    "Shop",
    "TreeProblem",
    "available_datasets",
    "dataset_path",
    "fetch_dataset",
    "find_dataset",
    "load_dataset",
    "poker_class",
    "transforms",
    "verify_dataset",
]
