"""Save a model where the disk is full: argv is the path."""

import resource
import signal
import sys

import stumpery as st

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
policy = st.policies.RandomPolicy(actions=range(3000))
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    st.save(policy, sys.argv[1])
except OSError:
    print("OSError")
