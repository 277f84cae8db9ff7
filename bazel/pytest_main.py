"""Runs pytest on the files that it is given, against the libraries built by Bazel."""

import os
import sys

import pytest

runfiles = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
# In the environment, so that the processes which a test starts use them too.
os.environ["PERSIA_LIBRARY_DIR"] = os.path.join(runfiles, "cc")
sys.exit(pytest.main(["-p", "no:cacheprovider", *sys.argv[1:]]))
