#!/usr/bin/env python3
"""Checks the files that install Admit: ops/{systemd,docker,kubernetes,debian}.

Uses Python's standard library, PyYAML where it is there, systemd-analyze and sh where they are there. Each complaint names
the file and the fix. Exit code 1 where there is one. A check that could not run is named.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import yaml
except ImportError:
    yaml = None

OPS = Path(__file__).resolve().parent
ROOT = OPS.parent
CLI = ROOT / "crates/cli/src"
FOLDERS = ["systemd", "docker", "kubernetes", "debian"]
# Settings that the program reads without an argument, and the files that read them.
BESIDE = {"ADMIT_CONFIG": CLI / "main.rs", "ADMIT_LOG": CLI / "main.rs"}
# Not in the sample of settings: a file cannot name itself.
NOT_IN_FILE = {"ADMIT_CONFIG"}
NAME = re.compile(r"(?<![A-Z0-9_])(?:(?:ADMIT|OBJECTS|SMTP|OTEL)_[A-Z0-9_]+|(?:PUBLIC|DATABASE|REDIS)_URL(?:_FILE)?)(?![A-Z0-9_])")

complaints = []
skipped = []


def complain(path, line, what, fix):
    """Keeps one complaint. `line` is 0 where it is about the whole file."""
    where = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    complaints.append(f"{where}{f':{line}' if line else ''}: {what} Fix: {fix}")


def text_files():
    """The text files below the checked folders, without secrets that somebody made."""
    for folder in FOLDERS:
        for path in sorted((OPS / folder).rglob("*")):
            if path.is_file() and "secrets" not in path.relative_to(OPS).parts[:-1]:
                yield path, path.read_text(encoding="utf-8")


def settings():
    """Each name that is a setting, with the default that its source spells out, or None."""
    source = "".join((CLI / name).read_text(encoding="utf-8") for name in ("settings.rs", "tls.rs"))
    found = {}
    for attribute in re.findall(r"#\[arg\((.*?)\)\]\s*\n\s*pub ", source, re.S):
        name = re.search(r'\benv = "([A-Z0-9_]+)"', attribute)
        if name:
            default = re.search(r'\bdefault_value = "([^"]*)"', attribute)
            found[name[1]] = default[1] if default else None
    for name, path in BESIDE.items():
        if f'"{name}"' in path.read_text(encoding="utf-8"):
            found[name] = None
    return found


def check_names(known):
    """Every name of a setting is a setting, or NAME_FILE of one."""
    for path, text in text_files():
        for number, line in enumerate(text.splitlines(), 1):
            for name in NAME.findall(line):
                if name not in known and name.removesuffix("_FILE") not in known:
                    complain(path, number, f"{name} is no setting.", "write a name of crates/cli/src/settings.rs or tls.rs, or NAME_FILE of one.")


def check_sample(known):
    """The sample of settings has every setting once, and says the defaults of the source."""
    path = OPS / "systemd/admit.conf"
    seen = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = re.fullmatch(r"(#?)([A-Z][A-Z0-9_]*)=(.*)", line)
        if not match:
            if line.strip() and not line.startswith("#"):
                complain(path, number, "is no NAME=value and no remark.", "begin the line with #.")
            continue
        remark, name, value = match.groups()
        if name in seen:
            complain(path, number, f"{name} is also in line {seen[name]}.", "keep one of the two lines.")
        seen[name] = number
        default = known.get(name)
        if remark and default is not None and value != default:
            complain(path, number, f"shows {value!r}, but the default is {default!r}.", f"write #{name}={default}.")
    for name in sorted(known.keys() - seen.keys() - NOT_IN_FILE):
        complain(path, 0, f"lacks the setting {name}.", f"add a remark and the line #{name}= with its default.")


def documents(path, text):
    """The documents of a YAML file; none where it cannot be read."""
    if yaml is None:
        return []
    try:
        return [one for one in yaml.safe_load_all(text) if one is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        complain(path, mark.line + 1 if mark else 0, f"is no YAML: {getattr(error, 'problem', error)}.", "correct that line.")
        return []


def pinned(image):
    """Whether an image names a version: a digest, or a tag with a number in it."""
    if "@sha256:" in image:
        return True
    tag = image.rsplit("/", 1)[-1].partition(":")[2]
    return bool(re.search(r"\d", tag)) and "latest" not in tag


def check_dockerfile(path, text):
    """Versions, the user, the health check, and apt-get."""
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        if lines and lines[-1][1].endswith("\\"):
            lines[-1][1] = lines[-1][1][:-1] + " " + line.strip()
        else:
            lines.append([number, line.strip()])
    stages, user, health = set(), None, False
    for number, line in lines:
        word, _, rest = line.partition(" ")
        if word == "FROM":
            user, health = None, False
            image, _, stage = rest.partition(" AS ")
            # Debian's `bookworm-slim` names a version without a number.
            if image not in stages and not pinned(image) and not image.startswith("debian:bookworm"):
                complain(path, number, f"the image {image} names no version.", "write a tag with a version; never latest.")
            stages.add(stage.strip())
        elif word == "USER":
            user = rest.split(":")[0]
        elif word == "HEALTHCHECK":
            health = rest.strip() != "NONE"
        elif word == "ADD":
            complain(path, number, "ADD unpacks and downloads.", "write COPY.")
        elif word == "RUN" and re.search(r"apt-get\b.*\binstall\b", rest):
            if "--no-install-recommends" not in rest:
                complain(path, number, "apt-get installs what nobody asked for.", "add --no-install-recommends.")
            if "rm -rf /var/lib/apt/lists/*" not in rest:
                complain(path, number, "the lists of apt stay in the image.", "end the RUN with rm -rf /var/lib/apt/lists/*.")
    if user in (None, "root", "0"):
        complain(path, 0, "the last stage runs as root.", "add USER with a number that is not 0.")
    elif not user.isdigit():
        complain(path, 0, f"USER {user} is a name: Kubernetes cannot see that it is not root.", "write its number.")
    if not health:
        complain(path, 0, "the last stage has no HEALTHCHECK.", "add one that runs admit doctor.")


def check_compose(path, document):
    """Versions, health checks, rights, and files that are named."""
    for name, service in document.get("services", {}).items():
        image = service.get("image", "")
        if not pinned(image):
            complain(path, 0, f"{name}: the image {image!r} names no version.", "write a tag with a version; never latest.")
        if "test" not in service.get("healthcheck", {}):
            complain(path, 0, f"{name}: there is no health check.", "add healthcheck with a test.")
        if service.get("read_only") is not True:
            complain(path, 0, f"{name}: its root can be written to.", "add read_only: true.")
        if service.get("cap_drop") != ["ALL"]:
            complain(path, 0, f"{name}: it keeps capabilities.", "add cap_drop: [ALL].")
        for other, wanted in (service.get("depends_on") or {}).items():
            if other not in document["services"]:
                complain(path, 0, f"{name}: it waits for {other}, which is no service.", "correct depends_on.")
            elif wanted.get("condition") == "service_healthy" and "healthcheck" not in document["services"][other]:
                complain(path, 0, f"{name}: {other} has no health check to wait for.", "add one to it.")
        for secret in service.get("secrets", []):
            if secret not in document.get("secrets", {}):
                complain(path, 0, f"{name}: the secret {secret} is not declared.", "add it under secrets.")
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("."):
                if not (path.parent / source).is_file():
                    complain(path, 0, f"{name}: there is no file {source}.", "correct the path.")
            elif source not in (document.get("volumes") or {}):
                complain(path, 0, f"{name}: the volume {source} is not declared.", "add it under volumes.")
        for network in service.get("networks", []):
            if network not in document.get("networks", {}):
                complain(path, 0, f"{name}: the network {network} is not declared.", "add it under networks.")
        for setting, value in (service.get("environment") or {}).items():
            file = str(value).removeprefix("/run/secrets/")
            if setting.endswith("_FILE") and file not in service.get("secrets", []):
                complain(path, 0, f"{name}: {setting} names {value}, which is no secret of it.", "add it to its secrets.")
        for port in service.get("ports", []):
            if not str(port).startswith("127.0.0.1:"):
                complain(path, 0, f"{name}: port {port} is open to every network.", "begin it with 127.0.0.1:.")


def check_manifest(path, document):
    """What a manifest of Kubernetes must say here."""
    for field in ("apiVersion", "kind"):
        if field not in document:
            complain(path, 0, f"a document has no {field}.", "add it.")
    kind, name = document.get("kind"), document.get("metadata", {}).get("name")
    if kind != "Namespace" and document.get("metadata", {}).get("namespace") != "admit":
        complain(path, 0, f"{kind} {name} is not in the namespace admit.", "add metadata.namespace: admit.")
    if kind != "Deployment":
        return
    pod = document["spec"]["template"]["spec"]
    wanted, labels = document["spec"]["selector"]["matchLabels"], document["spec"]["template"]["metadata"]["labels"]
    if not wanted.items() <= labels.items():
        complain(path, 0, f"{name}: the selector does not find its own pods.", "use the same labels.")
    if pod.get("securityContext", {}).get("runAsNonRoot") is not True:
        complain(path, 0, f"{name}: it may run as root.", "add runAsNonRoot: true.")
    if pod.get("terminationGracePeriodSeconds", 30) < 30:
        complain(path, 0, f"{name}: open requests are cut off.", "set terminationGracePeriodSeconds to 30 or more.")
    volumes = {volume["name"] for volume in pod.get("volumes", [])}
    for container in pod["containers"]:
        label = f"{name}, container {container['name']}"
        if not pinned(container.get("image", "")):
            complain(path, 0, f"{label}: the image names no version.", "write a tag with a version; never latest.")
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            place = "/healthz" if probe == "livenessProbe" else "/readyz"
            if container.get(probe, {}).get("httpGet", {}).get("path") != place:
                complain(path, 0, f"{label}: {probe} does not ask {place}.", f"add {probe} with httpGet {place}.")
        security = container.get("securityContext", {})
        if security.get("readOnlyRootFilesystem") is not True or security.get("capabilities", {}).get("drop") != ["ALL"]:
            complain(path, 0, f"{label}: its root can be written to, or it keeps capabilities.", "add readOnlyRootFilesystem: true and capabilities.drop: [ALL].")
        if "memory" not in container.get("resources", {}).get("limits", {}):
            complain(path, 0, f"{label}: its memory has no limit.", "add resources.limits.memory.")
        for mount in container.get("volumeMounts", []):
            if mount["name"] not in volumes:
                complain(path, 0, f"{label}: there is no volume {mount['name']}.", "add it under volumes.")


def check_unit():
    """systemd itself reads the unit; a program that is there stands in for admit, which may not be installed here."""
    path = OPS / "systemd/admit.service"
    text = path.read_text(encoding="utf-8")
    for line in ("User=admit", "NoNewPrivileges=yes", "ProtectSystem=strict", "SystemCallFilter=@system-service", "UMask=0077"):
        if line not in text.splitlines():
            complain(path, 0, f"lacks {line}.", "add the line under [Service].")
    stop = re.search(r"^TimeoutStopSec=(\d+)$", text, re.M)
    if not stop or int(stop[1]) < 20:
        complain(path, 0, "systemd kills the server before open requests end.", "set TimeoutStopSec to 20 or more.")
    if not shutil.which("systemd-analyze"):
        skipped.append("systemd-analyze verify (systemd is not here)")
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "admit.service"
        copy.write_text(re.sub(r"^Documentation=.*\n", "", text, flags=re.M).replace("/usr/bin/admit ", f"{shutil.which('true')} "))
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(copy)], capture_output=True, text=True)
        about = [line for line in done.stderr.splitlines() if "admit.service" in line]
        if about or (done.returncode and not done.stderr.strip()):
            complain(path, 0, f"systemd-analyze verify says: {' / '.join(about) or done.returncode}.", "correct what it names.")


def check_scripts():
    """Shell scripts parse, stop at the first error, and can be started."""
    scripts = [path for path, text in text_files() if text.startswith("#!/bin/sh")]
    for path in scripts:
        if not os.access(path, os.X_OK):
            complain(path, 0, "cannot be started.", "run chmod +x on it.")
        if not re.search(r"^set -e", path.read_text(encoding="utf-8"), re.M):
            complain(path, 0, "goes on after an error.", "add set -e.")
        done = subprocess.run(["sh", "-n", str(path)], capture_output=True, text=True)
        if done.returncode:
            complain(path, 0, f"is no shell script: {done.stderr.strip()}.", "correct that line.")
    for name in ("postinst", "postrm"):
        path = OPS / "debian" / name
        if path not in scripts or "#DEBHELPER#" not in path.read_text(encoding="utf-8").splitlines():
            complain(path, 0, "is missing, or has no line #DEBHELPER#.", "add it: cargo-deb puts its own lines there.")


def main():
    """Runs every check."""
    known = settings()
    if len(known) < 10:
        complain(CLI / "settings.rs", 0, "has fewer than 10 settings that this check can read.", "correct settings() in ops/check.py.")
    check_names(known)
    check_sample(known)
    if yaml is None:
        skipped.append("the YAML files (PyYAML is not here: apt-get install python3-yaml)")
    for path in sorted(OPS.rglob("*.y*ml")):
        if "secrets" in path.relative_to(OPS).parts[:-1]:
            continue
        for document in documents(path, path.read_text(encoding="utf-8")):
            if path.name == "compose.yml":
                check_compose(path, document)
            elif path.parent.name == "kubernetes":
                check_manifest(path, document)
    check_dockerfile(OPS / "docker/Dockerfile", (OPS / "docker/Dockerfile").read_text(encoding="utf-8"))
    check_unit()
    check_scripts()
    for line in complaints:
        print(line, file=sys.stderr)
    for what in skipped:
        print(f"not checked: {what}")
    print(f"ops: {len(known)} settings known, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
