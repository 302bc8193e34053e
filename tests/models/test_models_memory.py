"""Memory that is kept from one array to the next."""

import platform
import subprocess
import sys

import pytest

PAGES = """
import resource, sys
import numpy as np
from statcv.numeric.memory import keep_memory

if sys.argv[1] == "kept":
    keep_memory()

def use():
    return [np.ones(500_000) for _ in range(4)]

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

use(); use()
before = faults()
for _ in range(10):
    use()
print(faults() - before)
"""


def pages(what):
    run = [sys.executable, "-c", PAGES, what]
    return int(subprocess.run(run, check=True, capture_output=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
def test_memory_that_was_used_once_is_not_given_back():
    assert pages("kept") < pages("as it is") / 10
