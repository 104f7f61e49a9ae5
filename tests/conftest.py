"""Programs that tests start are not imported; Ctrl-C works also in background jobs of a shell."""

import signal

collect_ignore = ["programs"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as background jobs of a shell inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
