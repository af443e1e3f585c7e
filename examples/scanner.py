#!/usr/bin/env python3
"""A scanner for Admit in Python's standard library: it pairs, verifies the list, decides without a network, and syncs.
    python3 scanner.py door.jsonl LINK < codes.txt     the first time
    python3 scanner.py door.jsonl < codes.txt          later, also without a network
It reads one code per line, and prints a verdict only after the scan is on the disk. docs/reference/protocol.md explains the
protocol. It works for events without re-entry, and does not fetch other devices' scans. `admit scan` is the whole scanner.
"""
import fcntl, hashlib, hmac, json, os, re, struct, sys, time, urllib.request, uuid
from datetime import datetime

now_ms, mono_ms = (lambda: time.time_ns() // 1_000_000), (lambda: time.monotonic_ns() // 1_000_000)
mac = lambda key, message: hmac.new(key, message, hashlib.sha256)
moment = lambda rfc3339: datetime.fromisoformat(rfc3339.replace("Z", "+00:00")).timestamp() * 1000
# The canonical encoding: a text or bytes follow their length, a number has 8 bytes, an option follows a byte 0 or 1.
raw = lambda value: struct.pack(">I", len(value)) + value
text = lambda value: raw(value.encode())
whole = lambda value: struct.pack(">q", value)
flag = lambda value: b"\x01" if value else b"\x00"
maybe = lambda value, encode: b"\x00" if value is None else b"\x01" + encode(value)
digest = lambda value: raw(bytes.fromhex(value.removeprefix("sha256:")))

def scan_bytes(scan):
    """The bytes that are signed: every field of a scan, in this order. Fields that are never set here are absent options."""
    clock, basis, (began, random) = scan["clock"], scan["basis"], scan["epoch"].split("-")
    return b"".join([
        *map(text, ("admit.scan.v2", "v2", scan["scan_id"], scan["device_id"])), maybe(scan["log_id"], text),
        maybe(scan["seq"], whole), maybe(scan["prev"], digest), maybe(scan["key_id"], text),
        *(text(scan[name]) for name in ("event_id", "gate_id", "kind", "stage", "method")), maybe(scan["barcode_hash"], digest),
        maybe(scan["raw_hash"], digest), maybe(scan["ticket_id"], text), whole(scan["count"]), text(scan["outcome"]),
        flag(scan["opened"]), flag(scan["practice"]), bytes(6), whole(0),  # override to target_scan_id; keep
        whole(scan["at_ms"]), whole(scan["uncertainty_ms"]), b"\x01", whole(clock["wall_ms"]), whole(clock["mono_ms"]),
        text(clock["session_id"]), flag(clock["corrected"]), b"\x01", whole(int(began)), bytes.fromhex(random),
        whole(scan["manifest_version"]), whole(scan["cursor"]), b"\x01", whole(basis["within"]), whole(basis["inside"]),
        whole(basis["spent"]), maybe(None, whole), maybe(basis["status"], text)])  # the None is `last_entry_at`

def decide(rules, gate_id, one, used, at_ms):
    if not one:
        return "invalid", "unknown_code"
    zones = [zone for gate in rules["gates"] if gate["gate_id"] == gate_id for zone in gate["access_rules"]["zones"]]
    checks = [
        (one["status"] != "active", "invalid", "ticket_" + one["status"]),
        (rules["status"] in ("ended", "archived"), "expired", "event_ended"),
        (gate_id not in one["gate_ids"] if one["gate_ids"] else one["zone"] not in zones, "gate_access_denied", "wrong_gate"),
        (used >= one["entry_limit"], "duplicate", "already_scanned"),
        (one["expires_at"] and at_ms >= moment(one["expires_at"]), "expired", "expired"),
        (one["valid_from"] and at_ms < moment(one["valid_from"]), "expired", "not_yet_valid")]
    return next(((outcome, reason) for holds, outcome, reason in checks if holds), ("valid", "-"))

class Scanner:
    """The journal has one JSON object per line: first the pairing, then the scans. Each is on the disk before it is shown."""
    def __init__(self, path):
        self.path, self.witness, self.session = path, "", str(uuid.uuid4())
        self.clock = (mono_ms(), now_ms(), 7 * 86_400_000)  # nobody has compared this clock with the server's yet
        self.journal = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0)
        fcntl.flock(self.journal, fcntl.LOCK_EX | fcntl.LOCK_NB)  # two writers would give one `seq` to two scans
        kept = b"".join(self.journal.read().rpartition(b"\n")[:2])  # drops a row that a power cut left incomplete
        self.journal.truncate(self.journal.seek(len(kept)))
        self.paired, *self.scans = [json.loads(row) for row in kept.splitlines()] or [None]

    def write(self, row):
        self.journal.write(json.dumps(row).encode() + b"\n")
        os.fsync(self.journal.fileno())
        return row

    def ask(self, path, body=None):
        """Sends a GET, or with a body a POST. Each request carries the newest witness."""
        headers = {"Content-Type": "application/json", "X-Admit-Witness": self.witness}
        headers |= {"Authorization": "Bearer " + self.paired["api_key"]} if "api_key" in self.paired else {}
        request = urllib.request.Request(self.paired["server"] + path, body and json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            self.witness = answer.headers.get("X-Admit-Witness", self.witness)
            return answer.read(), answer.headers.get("X-Signature")

    def pair(self, link=""):
        found = re.fullmatch(r"(https?://[^/]+)/scan/?#pair=(\S+)", link) or sys.exit("not paired: give the pairing link")
        self.paired = {"server": found[1]}
        wish = {"pairing_token": found[2], "device_id": str(uuid.uuid4()), "device_type": "terminal"}
        self.paired = self.write(self.paired | json.loads(self.ask("/api/scanning/pair", wish)[0]) | {"log_id": uuid.uuid4().hex})

    def verify(self, body, header=None):
        """Checks both signatures over the exact bytes of a list. Nothing of a list may be used before that."""
        found = re.search(rb',"signature":"(HMAC-SHA256=[0-9a-f]{64})"\}\Z', body) or sys.exit("the list is not signed")
        for part, signature in [(body, header), (body[: found.start()] + b"}", found[1].decode())]:
            right = "HMAC-SHA256=" + mac(self.paired["api_key"].encode(), part).hexdigest()
            if signature and not hmac.compare_digest(signature, right):
                sys.exit("a signature of the list does not fit it")
        rules = json.loads(body)
        return rules if rules["event_id"] == self.paired["event_id"] else sys.exit("the list is of another event")

    def rules(self):
        """The server's list, or the one on the disk if the server does not answer. An older list than that is refused."""
        path, order = self.path + ".list", lambda rules: (rules["epoch"], rules["manifest_version"])
        old = self.verify(open(path, "rb").read()) if os.path.exists(path) else None
        try:
            sent, told = mono_ms(), json.loads(self.ask("/api/scanning/time")[0])
            half = max(0, mono_ms() - sent - (told["sent_at_ms"] - told["received_at_ms"])) // 2
            self.clock = (mono_ms(), told["sent_at_ms"] + half, half + 3)
            body, signature = self.ask(f"/api/scanning/events/{self.paired['event_id']}/manifest")
        except OSError as error:
            return old or sys.exit(f"there is no list yet, and no server: {error}")
        new = self.verify(body, signature or "none")
        old and order(new) < order(old) and sys.exit("the list is older than the one in use")
        open(path + ".part", "wb").write(body)
        os.replace(path + ".part", path)
        return new

    def scan(self, rules, code):
        passed, last = mono_ms() - self.clock[0], self.scans[-1] if self.scans else None
        true_ms, last_ms = self.clock[1] + passed, last["at_ms"] if last else 0
        at_ms = last_ms + 1 if last_ms - 2000 <= true_ms <= last_ms else true_ms  # rises along the log
        hashed, practice = "sha256:" + hashlib.sha256(code.encode()).hexdigest(), rules["status"] == "draft"
        one = rules["by_hash"].get(hashed, {})
        used = sum(own["opened"] and own["barcode_hash"] == hashed and own["practice"] == practice for own in self.scans)
        outcome, reason = decide(rules, self.paired["gate_id"], one, used, at_ms)
        scan = {name: self.paired[name] for name in ("device_id", "log_id", "key_id", "event_id", "gate_id")} | {
            "scan_id": str(uuid.uuid4()), "seq": len(self.scans) + 1, "kind": "entry", "stage": "final", "method": "qr",
            "prev": hashlib.sha256(scan_bytes(last)).hexdigest()[:32] if last else "0" * 32,
            "barcode_hash": hashed, "raw_hash": hashed, "ticket_id": one.get("ticket_id"), "count": 1,
            "outcome": outcome, "opened": outcome == "valid", "practice": practice, "at_ms": at_ms,
            "uncertainty_ms": self.clock[2] + passed // 5000 + at_ms - true_ms, "manifest_version": rules["manifest_version"],
            "clock": {"wall_ms": now_ms(), "mono_ms": mono_ms(), "session_id": self.session, "corrected": at_ms <= last_ms},
            "basis": {"within": used, "inside": used, "spent": used, "status": one.get("status")}, "epoch": rules["epoch"], "cursor": 0}
        scan_key = mac(mac(bytes(32), self.paired["api_key"].encode()).digest(), b"admit.scan.v2\x01").digest()
        scan |= {"signature": "HMAC-SHA256-V2=" + mac(scan_key, scan_bytes(scan)).hexdigest()}
        self.scans.append(self.write(scan))
        print(f"{outcome:<20}{reason:<18}{code}", flush=True)

    def sync(self):
        """Sends the scans of the log that the server lacks: new ones, and those that a restored server has lost."""
        log = {"log_id": self.paired["log_id"], "head": len(self.scans)}
        missing = json.loads(self.ask("/api/scanning/log-status", log)[0])["missing"]
        waiting = [scan for first, last in missing for scan in self.scans[first - 1 : last]]
        for at in range(0, len(waiting), 1000):
            batch = {"device_id": self.paired["device_id"], "sync_batch_id": str(uuid.uuid4()), "format": 2} | log
            told = json.loads(self.ask("/api/scanning/sync", batch | {"scans": waiting[at : at + 1000]})[0])
            print(f"received: {len(told['processed'])}, rejected: {len(told['rejected'])}, conflicts: {len(told['conflicts'])}")

if __name__ == "__main__":
    scanner = Scanner(sys.argv[1])
    scanner.paired or scanner.pair(*sys.argv[2:])
    rules = scanner.rules()
    (rules["re_entry"] != "never" or rules.get("limits")) and sys.exit("this example knows no re-entry and no limits of zones")
    rules["by_hash"] = {one["barcode_hash"]: one for one in rules["tickets"]}
    print(f"list: version {rules['manifest_version']}, {len(rules['tickets'])} codes")
    for code in filter(None, map(str.strip, sys.stdin)):
        scanner.scan(rules, code)
    try:
        scanner.sync()
    except OSError as error:
        print(f"not sent, and kept in the journal: {error}")
