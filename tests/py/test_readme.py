"""tests/py/test_readme.py: the program in README that uses the Python client works as it is printed.

May touch: README.md, a folder of its own, bin/aegis.
"""
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

from aegis_client import blocking
from pair import ROOT, Pair

LINES_MAX = 30
GATEWAY = "127.0.0.1:19001"  # as README has it


def printed(first):
    """The indented program of README that begins with that line."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        text = file.read()
    found = re.search(rf"^    {re.escape(first)}\n(?:(?:    .*)?\n)*", text, re.M)
    return textwrap.dedent(found.group(0)).strip() + "\n"


class Readme(unittest.TestCase):
    def test_the_greeter_of_the_readme_greets(self):
        program = printed("import asyncio")
        self.assertLessEqual(program.count("\n"), LINES_MAX)
        self.assertIn(GATEWAY, program)
        with Pair() as pair, tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "greet.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(program.replace(GATEWAY, pair.address))
            with blocking.Client(pair.address, "ann") as ann:
                heard = []
                ann.on("say", heard.append)
                ann.enter()
                env = dict(os.environ, PYTHONPATH="proto/py", PYTHONDONTWRITEBYTECODE="1")
                ran = subprocess.run([sys.executable, path], cwd=ROOT, env=env, text=True, timeout=60,
                                     capture_output=True, check=False)
                self.assertEqual((ran.returncode, ran.stderr), (0, ""))
                self.assertEqual(ran.stdout, "entered at 16.0, 0.0\nsees ann at 8.0, 0.0\n")
                self.assertEqual([(one.name, one.text) for one in heard],
                                 [("greeter", "Hello, ann!")])
