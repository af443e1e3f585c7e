"""Checks a really served Admit against its own OpenAPI document (issue 3): `cargo xtask contract` runs it.

    python run.py --admit PATH [--examples N] [--only REGEX]

Prints how often each operation was answered and how often with success, and fails where a check of schemathesis does, or
where an operation never succeeded: then its success was never looked at.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request

from served import ended, served

HERE = pathlib.Path(__file__).parent
SEED = "20260607"
# Tested apart: one never ends, of the other the waiting is the point (crates/server/tests/it/{stream,changes}.rs).
# Without `wait` the long poll is an ordinary read: it is in.
STREAMS = ["GET /api/events/{id}/stream"]


def check(url, token, folder, examples, only):
    counts = folder / "counts.json"
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(HERE / "schemathesis.toml")]
    command += ["run", f"{url}/openapi.json", "--max-examples", str(examples)]
    command += ["--seed", SEED, "--phases", "examples,coverage,fuzzing", "--no-color"]
    for name in STREAMS:
        command += ["--exclude-name", name]
    if only:
        command += ["--include-name-regex", only]
    environment = os.environ | {
        "CONTRACT_URL": url,
        "CONTRACT_TOKEN": token,
        "CONTRACT_COUNTS": str(counts),
        "SCHEMATHESIS_HOOKS": "hooks",
        "PYTHONPATH": f"{HERE}",
        "NO_PROXY": "127.0.0.1",
    }
    passed = subprocess.run(command, env=environment, cwd=folder).returncode == 0
    told = json.loads(counts.read_text()) if counts.exists() else {}
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{url}/openapi.json") as answer:
        document = json.load(answer)
    operations = [f"{method.upper()} {path}" for path, item in document["paths"].items() for method in item]
    operations = [one for one in operations if one not in STREAMS and re.search(only or "", one)]
    print(f"\n{'answers':>8} {'2xx':>6}  operation: other answers")
    never = []
    for label in operations:
        seen = told.get(label, {})
        good = sum(count for status, count in seen.items() if status.startswith("2"))
        rest = ", ".join(f"{status} × {count}" for status, count in sorted(seen.items()) if not status.startswith("2"))
        print(f"{sum(seen.values()):>8} {good:>6}  {label}: {rest}")
        if not good:
            never.append(label)
    total = sum(sum(seen.values()) for seen in told.values())
    print(f"{total:>8}         of {len(operations)} operations, {examples} examples each, seed {SEED}")
    if never:
        print(f"never answered with success: {', '.join(never)}")
    return passed and not never


def main():
    signal.signal(signal.SIGTERM, ended)
    parser = argparse.ArgumentParser()
    parser.add_argument("--admit", required=True)
    parser.add_argument("--examples", type=int, default=200)
    parser.add_argument("--only")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="admit-contract-") as name:
        folder = pathlib.Path(name)
        with served(asked.admit, folder) as (url, token):
            sys.exit(0 if check(url, token, folder, asked.examples, asked.only) else 1)


if __name__ == "__main__":
    main()
