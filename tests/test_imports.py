"""What importing the package must not drag in."""

import subprocess
import sys


def test_import_of_the_package_loads_neither_transformers_nor_matplotlib():
    code = "import sys, grpo_lessons; print(sorted({'transformers', 'matplotlib'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
