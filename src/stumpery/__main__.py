"""`python -m stumpery`."""

from stumpery.cli import app

app()
