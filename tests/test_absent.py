"""Without Unsloth, bitsandbytes, peft, trl, a GPU and a network the library can be imported.

Left out are the modules that exist for one library alone and build on it (integrations/trl*.py and verl_losses.py,
workshop/execution.py), and what is not imported but run or read: the program of the sandbox, nbgrader's configuration.
"""

import subprocess
import sys

CODE = """
import pkgutil, socket, sys
from importlib import import_module

optional = "unsloth bitsandbytes peft trl datasets accelerate gguf vllm reasoning_gym nbgrader"
for name in optional.split():
    sys.modules[name] = None  # importing it raises ImportError

def no_network(*args, **options):
    raise OSError("no network")

socket.socket.connect = socket.create_connection = no_network
import torch
torch.cuda.is_available = lambda: False

import grpo_lessons
names = [module.name for module in pkgutil.walk_packages(grpo_lessons.__path__, "grpo_lessons.")]
apart = ("integrations.trl", "integrations.verl_losses", "verifiers.sandbox.__main__", "workshop.execution",
         "workshop.course")
names = [name for name in names if not name.removeprefix("grpo_lessons.").startswith(apart)]
for name in names:
    import_module(name)
from grpo_lessons.policies import load_policy
print(len(names) > 100, load_policy("nano").device)
"""


def test_every_module_can_be_imported_and_nano_loads():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["True", "cpu"], done.stderr[-1500:]
