"""A fresh process per program and nothing around it but a time limit: Windows, and only when allowed explicitly."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from .workers import system_environment

PROGRAM = Path(__file__).parent / "sandbox" / "program.py"
OUTPUT_LIMIT = 1 << 20  # bytes
START_S = 2.0  # for Python's own start, over the program's limit


def run_unfenced(request: dict[str, Any], _limit_s: float) -> dict[str, Any]:
    """What the program wrote ("output"), and how it ended ("ended", "status"), as the sandbox's supervisor says it."""
    command = [sys.executable, "-S", "-s", "-P", "-B", str(PROGRAM)]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=work,
            env=system_environment(PYTHONHASHSEED="0"),
        )
        timer = threading.Timer(request["timeout_s"] + START_S, process.kill)
        timer.start()
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.close()
            output = process.stdout.read(OUTPUT_LIMIT + 1)
            ended = "output" if len(output) > OUTPUT_LIMIT else "end" if timer.is_alive() else "timeout"
        except OSError:
            output, ended = b"", "end"
        finally:
            timer.cancel()
            process.kill()
            process.stdout.close()
            status = process.wait()
    return {"output": output.decode("utf-8", "replace"), "ended": ended, "status": status}
