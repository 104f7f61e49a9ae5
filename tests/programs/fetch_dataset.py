"""Download a dataset of the shape of Nursery: argv is its address."""

import sys
from dataclasses import replace

from stumpery.streams.datasets import load, registry

load.fetch(replace(registry.find("nursery"), name="toy", origin=(sys.argv[1],)))
