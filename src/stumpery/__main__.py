"""`python -m stumpery` and the command `stumpery`."""

import sys

INTERRUPTED = 130  # exit code


def main() -> None:
    """Run a command; Ctrl-C while it is being imported ends it as it does later."""
    try:
        from stumpery.cli import app

        app()
    except KeyboardInterrupt:
        sys.stderr.write("\nstopped\n")
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
