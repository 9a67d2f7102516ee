"""Programs on a terminal: what they write to it, and when."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import time


def on_a_terminal(program, columns=80, timed=False):
    """What a program writes to a terminal that is its stderr; with times, as (seconds, text)."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-c", program], stderr=its, stdout=subprocess.DEVNULL
    )
    os.close(its)
    written = []
    try:
        while part := os.read(ours, 4096):
            written.append((time.monotonic() - began, part.decode(errors="replace")))
    except OSError:  # how Linux says that the other side has closed
        pass
    os.close(ours)
    text = "".join(part for _, part in written)
    assert process.wait(timeout=30) == 0, text
    return written if timed else text
