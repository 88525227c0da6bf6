#!/usr/bin/python3
"""Tests of libfiber_sim.so through its C ABI. Usage: run.py LIBRARY [-v] [NAME ...]"""

import os
import sys
import unittest


class CountingResult(unittest.TextTestResult):
    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def main():
    if len(sys.argv) < 2 or not os.path.isfile(sys.argv[1]):
        print(__doc__, file=sys.stderr)
        return 2
    os.environ["FIBER_SIM"] = os.path.abspath(sys.argv[1])
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, here)
    loader = unittest.TestLoader()
    loader.testNamePatterns = ["*%s*" % name for name in sys.argv[2:] if not name.startswith("-")] or None
    suite = loader.discover(here, pattern="test_*.py")
    verbosity = 2 if "-v" in sys.argv else 1
    result = unittest.TextTestRunner(verbosity=verbosity, resultclass=CountingResult).run(suite)
    failed = len(result.failures) + len(result.errors)
    print("%d passed, %d failed" % (result.passed, failed))
    return 0 if failed == 0 and result.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
