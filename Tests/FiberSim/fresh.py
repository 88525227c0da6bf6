"""A process for each test: the library allows one start in a process, ever, and some tests end theirs."""

import collections
import functools
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import unittest

import abi

LIBRARY = os.environ.get("FIBER_SIM", "")
DEADLINE = 60.0

Ended = collections.namedtuple("Ended", "exit signal output")


class FreshCase(unittest.TestCase):
    """`self.child(body)` runs `body(library)` in a process of its own; the parent never loads the library."""

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="fiber-sim-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def begin(self, body):
        """Starts a child; returns its pid and the descriptor of its output."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid != 0:
            os.close(writing)
            return pid, reading
        status = 1
        try:
            os.dup2(writing, 1)
            os.dup2(writing, 2)
            sys.stdout = os.fdopen(1, "w", buffering=1)
            sys.stderr = os.fdopen(2, "w", buffering=1)
            body(abi.Library(LIBRARY))
            status = 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)

    def finish(self, pid, reading):
        """Waits for a child with a deadline; how it ended and what it printed."""
        output = b""
        deadline = time.monotonic() + DEADLINE
        while True:
            ready, _, _ = select.select([reading], [], [], max(0, deadline - time.monotonic()))
            chunk = os.read(reading, 65536) if ready else b""
            if not chunk:
                break
            output += chunk
        os.close(reading)
        if not ready:
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        text = output.decode(errors="replace")
        if not ready:
            raise AssertionError("the child was still running after %d s: %s" % (DEADLINE, text))
        if os.WIFSIGNALED(status):
            return Ended(None, os.WTERMSIG(status), text)
        return Ended(os.WEXITSTATUS(status), None, text)

    def child(self, body):
        return self.finish(*self.begin(body))

    def succeed(self, body):
        ended = self.child(body)
        if ended.exit != 0:
            raise AssertionError("the child ended with %s: %s" % (ended.exit or ended.signal, ended.output))
        return ended.output

    def assertAborts(self, body, text):
        ended = self.child(body)
        self.assertEqual(ended.signal, signal.SIGABRT, ended.output)
        self.assertIn(text, ended.output)

    def assertFails(self, status, text, call, *arguments, **named):
        with self.assertRaises(abi.Failure) as raised:
            call(*arguments, **named)
        self.assertIn(text, raised.exception.text)
        self.assertEqual(raised.exception.status, status, raised.exception.text)
        return raised.exception.text

    def node(self, library, **arguments):
        """A started node on the test's directory."""
        return abi.Node(library, self.directory, **arguments).start()


def fresh(test):
    """The whole test in a child; it gets the library as its argument, and no string may be live at its end."""
    @functools.wraps(test)
    def wrapped(self):
        def body(library):
            test(self, library)
            live = library.control(counters={})["strings_live"]
            assert live == 0, "%d strings were not freed" % live
        self.succeed(body)
    return wrapped
