"""A hostile program gets nothing and leaves nothing: with namespaces and, where they are refused, with the filter."""

# ruff: noqa: E501  (programs on one line each)
import contextlib
import functools
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from grpo_lessons.verifiers import code as code_module
from grpo_lessons.verifiers import verify_code
from grpo_lessons.verifiers.workers import WorkerDied, WorkerPool, system_environment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux is where programs are isolated")
SANDBOX = Path(code_module.__file__).parent / "sandbox"


def pool(*options):
    command = [sys.executable, "-S", "-s", "-P", "-B", str(SANDBOX), *options]
    return WorkerPool(command, system_environment(PYTHONHASHSEED="0"), 2)


POOLS = {"namespaces": pool(), "filter": pool("--no-namespaces")}


@functools.cache
def offered(mode):
    worker = POOLS[mode]._start()
    hello = worker.hello()
    POOLS[mode]._stop(worker)
    return hello[mode]


@pytest.fixture(params=POOLS)
def mode(request, monkeypatch):
    if not offered(request.param):
        pytest.skip(f"this system offers no {request.param}")
    monkeypatch.setattr(code_module, "_asker", lambda allow_unsafe: POOLS[request.param].ask)
    return request.param


def outcome(program, expected="'done'", timeout_s=10.0):
    """The reason for a program whose f() shall return something."""
    return verify_code(f"```python\n{program}\n```", [f"assert f() == {expected}"], timeout_s=timeout_s).reason


def attempt(statements):
    """A program whose f() is "done" if the statements succeed and the exception's name if not."""
    body = "\n        ".join(statements.strip().split("\n"))
    return f"def f():\n    try:\n        {body}\n    except BaseException as e:\n        return type(e).__name__\n    return 'done'"


def test_the_trial_itself_can_succeed(mode):
    assert outcome(attempt("1 + 1")) == "correct"


@pytest.mark.parametrize("directory", ["/tmp", "/dev/shm", "/var/tmp", "/", "/work", os.getcwd(), str(Path.home())])
def test_no_file_appears_outside_the_work_directory(mode, directory):
    name = f"{directory.rstrip('/')}/escaped-{os.getpid()}-{mode}"
    outcome(attempt(f"open({name!r}, 'w').write('x')\nimport os\nos.mkdir({name + 'd'!r})"))
    assert not os.path.exists(name)
    assert not os.path.exists(name + "d")


def test_no_file_appears_through_a_link_a_descriptor_or_a_parent_directory(mode):
    before = set(os.listdir("/tmp"))
    outcome(attempt("import os\nos.symlink('/tmp', 'link')\nopen('link/escaped', 'w')"))
    outcome(attempt("import os\nos.chdir('..')\nopen('escaped', 'w')\nopen('tmp/escaped', 'w')"))
    outcome(
        attempt(
            "import os\nfor d in range(64):\n    try: os.open('escaped', os.O_CREAT, dir_fd=d)\n    except OSError: pass"
        )
    )
    assert "escaped" not in os.listdir("/tmp")
    assert not os.path.exists("escaped")
    assert {name for name in set(os.listdir("/tmp")) - before if "escaped" in name} == set()


@pytest.mark.parametrize("path", ["/etc/passwd", "/etc/hostname", __file__, "/proc/self/environ", "/proc/1/environ"])
def test_no_file_of_the_machine_is_read(mode, path):
    assert outcome(attempt(f"open({path!r}, 'rb').read()")) == "wrong"


def test_no_environment_variable_is_read_back(mode, monkeypatch):
    monkeypatch.setenv("GRPO_SECRET", "hunter2")
    assert outcome("import os\ndef f(): return dict(os.environ)", "{}") == "correct"
    assert outcome("import os\ndef f(): return os.getenv('GRPO_SECRET')", "None") == "correct"
    scan = "import os\ndef f(): return [p for p in os.listdir('/proc') if b'hunter2' in open(f'/proc/{p}/environ','rb').read()]"
    assert outcome(scan, "[]") == "error"


def test_no_socket_opens(mode):
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    server.settimeout(0.05)
    call = "import _socket\n_socket.socket({family}, {kind})"
    for family, kind in ((2, 1), (2, 2), (10, 1), (1, 1), (16, 3)):
        assert outcome(attempt(call.format(family=family, kind=kind))) == "wrong"
    connect = f"import socket\nsocket.create_connection(('127.0.0.1', {port}))"
    assert outcome(attempt(connect)) == "wrong"
    with server, pytest.raises(TimeoutError):
        server.accept()


@pytest.mark.parametrize(
    "statements",
    [
        "import os\nos.fork()",
        "import os\nos.execv('/bin/sh', ['sh'])",
        "import os\nos.posix_spawn('/bin/sh', ['sh'], {})",
        "import subprocess\nsubprocess.run(['true'])",
        "import os\nif os.system('true') != 0: raise OSError",
        "import threading\nthreading.Thread(target=print).start()",
        "import ctypes\nif ctypes.CDLL(None).syscall(57) < 0: raise OSError",
        "import os\nos.kill(os.getppid(), 9)",
        "import os\nos.kill(-1, 9)",
        "import os\nos.setuid(0)\nos.chown('.', 0, 0)",
        "import os\nos.chroot('.')",
        "bytearray(4 << 30)",
        "[0] * (4 << 27)",
        "import mmap\nmmap.mmap(-1, 4 << 30)",
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40))",
        "import resource\nresource.setrlimit(resource.RLIMIT_NPROC, (100, 100))",
        "with open('big', 'wb') as file:\n    for _ in range(64): file.write(bytes(1 << 20))",
        "files = [open('/dev/null') for _ in range(100)]",
    ],
)
def test_is_refused(mode, statements):
    assert outcome(attempt(statements)) == "wrong"


BOMBS = {
    "fork bomb": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "fork bomb by system call": "import ctypes\nwhile True: ctypes.CDLL(None).syscall(57)",
    "thread bomb": "import threading\nwhile True:\n    try: threading.Thread(target=f).start()\n    except RuntimeError: pass",
    "double fork": "import os, time\ntry:\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0: time.sleep(30)\nexcept OSError: pass\nwhile True: pass",
}


def processes():
    """Programs of the sandbox that this test process started, and orphans; not those of another test worker."""
    found = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if str(SANDBOX) not in " ".join(process.cmdline()):
                continue
            above = process.parents()
            mine = any(parent.pid == os.getpid() for parent in above)
            if mine or not any("exec(eval(" in " ".join(parent.cmdline()) for parent in above):  # a worker of xdist
                found.add(process.pid)
    return found


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_nothing_survives_a(mode, bomb):
    outcome("def f(): return 'done'")
    before = processes()
    body = "\n    ".join(bomb.split("\n"))
    assert outcome(f"def f():\n    {body}", timeout_s=0.3) in ("timeout", "error", "exited")
    deadline = time.monotonic() + 20
    while processes() - before:
        assert time.monotonic() < deadline, "a process of the program is left"
        time.sleep(0.02)


def test_a_sleeping_program_ends_with_the_process_that_started_it(mode):
    before = processes()
    worker = POOLS[mode]._start()
    worker.hello()
    request = {"source": "import time\ntime.sleep(30)", "calls": [], "setup": "", "stdin": None}
    request |= {"compile_only": False, "timeout_s": 30.0, "memory_mb": 512}
    ended = []

    def wait():
        with contextlib.suppress(WorkerDied):
            worker.ask(request, 30.0)
        ended.append(True)

    waiting = threading.Thread(target=wait)
    waiting.start()
    while len(processes() - before) < 3:  # the warm parent, the supervisor, the program
        time.sleep(0.02)
    POOLS[mode]._stop(worker)
    waiting.join(20)
    assert ended == [True]
    deadline = time.monotonic() + 20
    while processes() - before:
        assert time.monotonic() < deadline, "a process of the program is left"
        time.sleep(0.02)


SYSTEM_PYTHON = "/usr/bin/python3"  # one that another user may run


def system_python_is_recent():
    if os.geteuid() != 0 or not (shutil.which("setpriv") and os.path.exists(SYSTEM_PYTHON)):
        return False
    version = subprocess.run(
        [SYSTEM_PYTHON, "-c", "import sys; print(sys.version_info >= (3, 11))"], capture_output=True
    )
    return version.stdout == b"True\n"


@pytest.mark.skipif(not system_python_is_recent(), reason="needs root, setpriv and a recent python3 of the system")
@pytest.mark.parametrize(
    "options",
    [
        ["--reuid=1000", "--regid=1000", "--clear-groups"],
        ["--bounding-set=-sys_admin", "--inh-caps=-sys_admin"],
        ["--bounding-set=-all", "--inh-caps=-all"],
    ],
    ids=["an ordinary user", "root without the right to mount", "root without any right"],
)
def test_the_same_walls_hold_for(options, monkeypatch):
    command = ["setpriv", *options, SYSTEM_PYTHON, "-S", "-s", "-P", "-B", str(SANDBOX)]
    monkeypatch.setattr(code_module, "_asker", lambda _: WorkerPool(command, system_environment(), 1).ask)
    assert outcome(attempt("1 + 1")) == "correct"
    for statements in (
        f"open('/tmp/escaped-{os.getpid()}', 'w')",
        "import os\nos.fork()",
        "import _socket\n_socket.socket(2, 1)",
        "open('/etc/passwd')",
        "bytearray(4 << 30)",
        "import os\nos.kill(-1, 9)",
    ):
        assert outcome(attempt(statements)) == "wrong"
    assert not os.path.exists(f"/tmp/escaped-{os.getpid()}")


def test_memory_is_given_back_after_a_hog(mode):
    hog = "def f():\n    hold = []\n    while True: hold.append(bytearray(1 << 20))"
    assert outcome(hog, timeout_s=30.0) == "memory"


FORGERIES = {
    "prints that it passed": "print('passed')\nprint('{\"value\": 42}')\ndef f(): return 0",
    "exits with success": "import os\nos._exit(0)",
    "exits with success when called": "import os\ndef f(): os._exit(0)",
    "raises SystemExit(0)": "def f(): raise SystemExit(0)",
    "equals everything": "class E:\n    def __eq__(self, other): return True\n    __hash__ = None\ndef f(): return E()",
    "is an integer that equals everything": "class E(int):\n    def __eq__(self, other): return True\n    def __hash__(self): return 42\ndef f(): return E(0)",
    "patches the builtins": "import builtins\nbuiltins.eval = lambda *a: 42\nbuiltins.all = builtins.any = lambda *a: True\ndef f(): return 0",
    "patches json": "import json\njson.dumps = lambda *a, **k: '{\"correct\": true}'\ndef f(): return 0",
    "writes verdicts to every descriptor": "import os\nfor d in range(64):\n    try: os.write(d, b'{\"reward\": 1.0, \"reason\": \"correct\"}\\n{\"output\": \"\", \"ended\": \"end\", \"status\": 0}\\n')\n    except OSError: pass\ndef f(): return 0",
    "floods the result pipe": "import os\ndef f():\n    while True: os.write(3, b'[' * 65536)",
    "nests its result": "import os\ndef f():\n    os.write(3, b'{\"value\": ' + b'{\"list\": [' * 20000 + b'\\n')\n    os._exit(0)",
    "sends other types": "import os\ndef f():\n    os.write(3, b'{\"value\": {\"object\": [42]}}\\n')\n    os._exit(0)",
    "sends colliding hashes": "import os, json\ndef f():\n    os.write(3, json.dumps({'value': {'set': [k * (2**61 - 1) for k in range(30000)]}}).encode() + b'\\n')\n    os._exit(0)",
    "closes the result pipe": "import os\nos.close(3)\ndef f(): return 42",
    "searches frames for the answer": (
        "import sys\ndef f():\n    frame, seen = sys._getframe(), []\n    while frame:\n        seen.append({**frame.f_locals})\n"
        "        frame = frame.f_back\n    return 42_000 + 424 if str(42_000 + 424) in repr(seen) else 0"
    ),
    "searches memory for the answer": (
        "import gc\ndef f():\n    word = ''.join(map(chr, (52, 50, 52, 50, 52)))\n"
        "    found = any(word in repr(o) for o in gc.get_objects() if type(o) in (dict, list, tuple))\n"
        "    return int(word) if found else 0"
    ),
}  # fmt: skip


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES)
def test_earns_nothing_who(mode, forgery):
    start = time.perf_counter()
    verdict = verify_code(f"```python\n{forgery}\n```", ["assert f() == 42424"], reward="share")
    assert verdict.reward == 0.0
    assert time.perf_counter() - start < 20.0
    assert outcome("def f(): return 'done'") == "correct"


def test_a_program_finds_no_trace_of_the_one_before(mode):
    first = "SECRET = 'trace-of-the-first'\ndef f(): return SECRET"
    assert outcome(first, "'trace-of-the-first'") == "correct"
    search = (
        "import gc\ndef f():\n    word = ''.join(reversed('tsrif-eht-fo-ecart'))\n"
        "    return any(word in repr(o) for o in gc.get_objects() if type(o) in (dict, list, tuple))"
    )
    assert outcome(search, "False") == "correct"


def test_hostile_programs_in_eight_threads_and_honest_ones_between_them(mode):
    hostile = [*FORGERIES.values(), *(attempt("import os\nos.fork()"), attempt("bytearray(4 << 30)"))]
    programs = [p for bad in hostile[:12] for p in (bad, "def f(): return 42424")]

    def grade(program):
        return verify_code(f"```python\n{program}\n```", ["assert f() == 42424"], timeout_s=1.0).reward

    with ThreadPoolExecutor(8) as threads:
        rewards = list(threads.map(grade, programs))
    assert rewards == [0.0, 1.0] * 12
    assert threading.active_count() < 40
