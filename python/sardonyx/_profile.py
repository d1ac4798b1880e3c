"""Profiles in the trace-event format that browsers and Perfetto read, laid out as ONNX Runtime's are."""

from __future__ import annotations

import json
import os
import time


def write(options, profile) -> str:
    """Writes (start, events) and returns the file's name."""
    origin, events = profile
    path = f"{options.profile_file_prefix}_{time.strftime('%Y-%m-%d_%H-%M-%S')}.json"
    pid = os.getpid()
    rows = []
    for category, name, op_type, start, end in events:
        row = {"cat": category, "pid": pid, "tid": 1, "dur": (end - start) // 1000, "ts": (start - origin) // 1000,
               "ph": "X", "name": f"{name}_kernel_time" if op_type else name,
               "args": {"op_name": op_type, "provider": "CPUExecutionProvider"} if op_type else {}}  # fmt: skip
        rows.append(row)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(rows, f, indent=0)
    return path
