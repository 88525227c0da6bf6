#!/usr/bin/python3
"""Runs the end-to-end suites against built programs: `run.py [--programs DIR] [--jobs N] [SUITE …]`.

Each module runs in a process of its own, two at a time, with a deadline; those that measure run alone. Every test is told as it
ends; the last line is `N passed, N failed`. NODEBUS_LONG=1 asks for the long crash runs.
"""

import argparse
import importlib
import json
import os
import signal
import subprocess
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEADLINE_SECONDS = 3000 if "1" in (os.environ.get("NODEBUS_LONG"), os.environ.get("NODEBUS_SANITIZED")) else 240
ALONE = ["figures", "sleeper"]


class Telling(unittest.TestResult):
    """Tells each test as it ends."""

    def __init__(self):
        super().__init__()
        self.passed = 0
        self.started = 0.0
        self.count_before = 0

    def faults(self):
        return self.failures + self.errors + [(test, "passed, though it was expected to fail") for test
                                              in self.unexpectedSuccesses]

    def startTest(self, test):
        super().startTest(test)
        self.started = time.monotonic()
        self.count_before = len(self.faults())

    def stopTest(self, test):
        super().stopTest(test)
        faults = self.faults()[self.count_before:]
        self.passed += not faults
        word = "FAILED" if faults else "ok"
        print(f"{word:6} {test.id()} ({time.monotonic() - self.started:.1f} s)", flush=True)
        for culprit, trace in faults:
            print(f"--- {culprit}\n{trace}", flush=True)


def run_module(name):
    """Runs one module in this process; the last line is its count for the parent."""
    sys.path.insert(0, str(HERE))
    result = Telling()
    unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(f"test_{name}")).run(result)
    ended = result.testsRun
    # An error in setUpClass belongs to no test that was started.
    failed = ended - result.passed if ended - result.passed else len(result.faults())
    for culprit, trace in result.faults() if not ended else []:
        print(f"--- {culprit}\n{trace}", flush=True)
    print(json.dumps({"passed": result.passed, "failed": failed}), flush=True)


def run_child(name, environment):
    """Runs one module in a child process and answers (passed, failed)."""
    child = subprocess.Popen(
        [sys.executable, __file__, "--module", name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=environment, start_new_session=True)
    try:
        output, _ = child.communicate(timeout=DEADLINE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        output, _ = child.communicate()
        output += f"FAILED {name}: not done after {DEADLINE_SECONDS} s\n"
    *lines, last = output.splitlines() or [""]
    try:
        count = json.loads(last)
        counts = (count["passed"], count["failed"])
    except (ValueError, TypeError, KeyError):
        lines.append(last)
        counts = (0, 1)
    print("\n".join(lines + [f"{name}: {counts[0]} passed, {counts[1]} failed"]), flush=True)
    return counts


def main():
    parser = argparse.ArgumentParser(description="end-to-end suites of nodebus")
    parser.add_argument("--programs", help="directory of the built programs (default: .build/release)")
    parser.add_argument("--jobs", type=int, default=2, help="modules at a time")
    parser.add_argument("--module", help=argparse.SUPPRESS)
    parser.add_argument("suites", nargs="*", help="suites such as commands (default: all)")
    arguments = parser.parse_args()
    if arguments.module:
        return run_module(arguments.module)

    environment = dict(os.environ)
    if arguments.programs:
        environment["NODEBUS_BIN"] = arguments.programs
    names = arguments.suites or sorted(path.stem.removeprefix("test_") for path in HERE.glob("test_*.py"))
    counts = [run_child(name, environment) for name in names if name in ALONE]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        counts += pool.map(lambda name: run_child(name, environment), [name for name in names if name not in ALONE])
    passed, failed = (sum(column) for column in zip(*counts))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
