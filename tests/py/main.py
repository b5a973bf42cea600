#!/usr/bin/python3
"""tests/py/main.py: the Python client: golden vectors, bytes, and a world and gateways of its own.

    AEGIS_BIN=DIR tests/py/main.py [WORD...]     DIR holds the aegis to test (default: bin)

WORD picks the tests whose name holds it. A line `ok - ...` or `not ok - ...` for each.
May touch: proto/py, tests/vectors, README.md, bin/aegis, loopback. Exit status: 1 where one failed.
"""
import logging
import os
import sys
import unittest

logging.getLogger("asyncio").setLevel(logging.ERROR)  # how long things took is nothing here
sys.dont_write_bytecode = True  # the tree stays clean
HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("../../proto/py", "../e2e"):
    sys.path.insert(0, os.path.join(HERE, folder))


class Lines(unittest.TestResult):
    def _line(self, word, test, error=""):
        name = getattr(test, "_testMethodName", str(test)).replace("test_", "", 1)
        print(f"{word} - {name.replace('_', ' ')}", flush=True)
        if error:
            print("    " + error.replace("\n", "\n    "), flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._line("ok", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._line("not ok", test, self._exc_info_to_string(err, test))

    def addError(self, test, err):
        super().addError(test, err)
        self._line("not ok", test, self._exc_info_to_string(err, test))

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._line("not ok", test, f"{subtest}\n{self._exc_info_to_string(err, test)}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"# skipped, {reason}: {test}", flush=True)


def main(words):
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{word}*" for word in words] or None
    result = Lines()
    loader.discover(HERE, "test_*.py").run(result)
    print(f"{result.testsRun} run", flush=True)
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
