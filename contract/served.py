"""A really served Admit for the checks of this folder: on a free port, with an organisation in it."""

import contextlib
import socket
import subprocess
import sys
import time
import urllib.request

PASSWORD = "correct horse battery"
EMAIL = "owner@contract.example"


@contextlib.contextmanager
def served(admit, folder):
    """A server on a free port with an organisation in it; gives its address and its owner's API token."""
    data = ["--data-dir", str(folder)]
    add = [admit, "user", "add", *data, "--email", EMAIL, "--organization", "Contract", "--password-stdin"]
    subprocess.run(add, input=PASSWORD + "\n", text=True, check=True, stdout=subprocess.DEVNULL)
    token = subprocess.run([admit, "token", "create", *data, "--email", EMAIL], text=True, check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = open(folder / "log", "w")
    command = [admit, "serve", *data, "--listen", f"127.0.0.1:{port}", "--syncs-per-minute", "1000000"]
    server = subprocess.Popen(command, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 30
        while not answers(url + "/readyz"):
            assert server.poll() is None and time.monotonic() < until, (folder / "log").read_text()
            time.sleep(0.05)  # tidy-allow: the pause of a poll loop
        yield url, token.stdout.strip()
    finally:
        server.terminate()
        server.wait()


def answers(url):
    try:
        return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=5).status == 200
    except OSError:
        return False


def ended(number, frame):
    """Whoever ends us ends the server too."""
    sys.exit(1)
