#!/usr/bin/env python3
"""Checks vectors/ against an implementation that shares no code with the core: Python's hmac and hashlib alone.

It encodes the scan's fields itself from their JSON (spec D6), rebuilds S1's five-field text, cuts the signature out of
a manifest's bytes (spec D5) and computes its content hash. It prints how much it checked as one JSON line, and exits 1
at the first disagreement.

    python3 verify.py VECTORS_FOLDER
"""

import hashlib
import hmac
import json
import pathlib
import re
import struct
import sys
import uuid
from datetime import datetime, timezone

ZERO = datetime(1970, 1, 1, tzinfo=timezone.utc)


def check(condition, name):
    if not condition:
        print(f"disagreement: {name}", file=sys.stderr)
        sys.exit(1)


# -------------------------------------------------------------------------------------------------- the fixed encoding


def raw(value):
    return struct.pack(">I", len(value)) + value


def text(value):
    return raw(value.encode("utf-8"))


def whole(value):
    return struct.pack(">q" if value < 0 else ">Q", value)


def flag(value):
    return b"\x01" if value else b"\x00"


def maybe(value, encode):
    return b"\x00" if value is None else b"\x01" + encode(value)


def sha(value):
    assert value.startswith("sha256:")
    return raw(bytes.fromhex(value[len("sha256:"):]))


def milliseconds(moment):
    delta = datetime.fromisoformat(moment.replace("Z", "+00:00")) - ZERO
    return (delta.days * 86400 + delta.seconds) * 1000 + delta.microseconds // 1000


def headcount(one):
    if "change" in one:
        change = one["change"]
        return text("change") + text(change["class"]) + whole(change["delta"])
    return text("recount") + whole(one["recount"]["inside"])


def epoch(value):
    began, random = value.split("-")
    return whole(int(began)) + whole(int(random, 16))


def clock(value):
    session = text(value["session_id"])
    return whole(value["wall_ms"]) + whole(value["mono_ms"]) + session + flag(value.get("corrected", False))


def basis(value):
    counts = whole(value["within"]) + whole(value["inside"]) + whole(value.get("spent", 0))
    last = maybe(value.get("last_entry_at"), lambda at: whole(milliseconds(at)))
    return counts + last + maybe(value.get("status"), text)


def scan_bytes(item):
    """The signed bytes of a v2 item as it stands on the wire."""
    get = item.get
    parts = [
        text("admit.scan.v2"),
        text("v2"),
        text(item["scan_id"]),
        text(item["device_id"]),
        maybe(get("log_id"), text),
        maybe(get("seq"), whole),
        maybe(get("prev"), lambda prev: raw(bytes.fromhex(prev))),
        maybe(get("key_id"), text),
        text(item["event_id"]),
        text(item["gate_id"]),
        text(item["kind"]),
        text(item["stage"]),
        text(item["method"]),
        maybe(get("barcode_hash"), sha),
        maybe(get("raw_hash"), sha),
        maybe(get("ticket_id"), text),
        whole(get("count", 1)),
        text(item["outcome"]),
        flag(item["opened"]),
        flag(get("practice", False)),
        maybe(get("override"), lambda aside: text(aside["by"]) + text(aside["reason"])),
        maybe(get("walk_in"), lambda one: text(one["zone"]) + whole(one["party"]) + raw(bytes.fromhex(one["name_digest"]))),
        maybe(get("headcount"), headcount),
        maybe(get("operator"), text),
        maybe(get("target_device"), text),
        maybe(get("target_scan_id"), text),
        whole(get("keep", 0)),
        whole(item["at_ms"]),
        whole(item["uncertainty_ms"]),
        maybe(get("clock"), clock),
        maybe(get("epoch"), epoch),
        whole(get("manifest_version", 0)),
        whole(get("cursor", 0)),
        maybe(get("basis"), basis),
    ]
    return b"".join(parts)


# ---------------------------------------------------------------------------------------------------------- signatures


def mac(key, message):
    return hmac.new(key, message, hashlib.sha256).hexdigest()


def scan_key(api_key):
    """HKDF-SHA256 without salt (RFC 5869), 32 bytes."""
    extracted = hmac.new(bytes(32), api_key.encode(), hashlib.sha256).digest()
    return hmac.new(extracted, b"admit.scan.v2\x01", hashlib.sha256).digest()


def sign_v2(api_key, item):
    return "HMAC-SHA256-V2=" + mac(scan_key(api_key), scan_bytes(item))


def sign_v1(api_key, item):
    fields = ["scan_id", "ticket_id", "barcode_hash", "scanned_at", "gate_id"]
    signed = json.dumps({field: item.get(field) for field in fields}, separators=(",", ":"), ensure_ascii=False)
    return signed, "HMAC-SHA256=" + mac(api_key.encode(), signed.encode())


# ----------------------------------------------------------------------------------------------------------- manifests


def body_signatures_hold(body, header, api_key):
    """Both signatures of a manifest, over the very bytes."""
    whole_body = "HMAC-SHA256=" + mac(api_key.encode(), body)
    if header is not None and not hmac.compare_digest(header, whole_body):
        return False
    found = re.search(rb',"signature":"(HMAC-SHA256=[0-9a-f]{64})"\}\Z', body)
    if not found:
        return False
    cut = body[: found.start()] + b"}"
    return hmac.compare_digest(found.group(1).decode(), "HMAC-SHA256=" + mac(api_key.encode(), cut))


def compact_list(body, header, api_key):
    """A list in the compact form, taken apart: (whether both signatures hold, its head, its codes as JSON has them)."""
    signed, own = body[:-32], body[-32:]
    holds = hmac.compare_digest(own, hmac.new(api_key.encode(), signed, hashlib.sha256).digest())
    holds = holds and hmac.compare_digest(header, "HMAC-SHA256=" + mac(api_key.encode(), body))
    at = 16
    if body[:at] != b"admit.compact.1\n":
        return False, None, None

    def take(count):
        nonlocal at
        at += count
        return signed[at - count : at]

    head = json.loads(take(int.from_bytes(take(4), "big")))
    count, classes = head["codes"], head["classes"]
    prefixes = [take(16).hex() for _ in range(count)]
    width = 1 if len(classes) <= 0x100 else 2 if len(classes) <= 0x10000 else 4
    places = [int.from_bytes(take(width), "big") for _ in range(count)]
    ids = []
    for _ in range(count):
        length = take(1)[0]
        ids.append(take(length).decode() if length else str(uuid.UUID(bytes=take(16))))
    groups = [take(6).hex() if head.get("groups") else "" for _ in range(count)]
    take(16 * head.get("tombstones", 0))
    head |= json.loads(take(int.from_bytes(take(4), "big")))
    codes = [
        classes[place] | {"barcode_hash": "sha256:" + prefix, "ticket_id": id, "group": group.strip("0") and group}
        for prefix, place, id, group in zip(prefixes, places, ids, groups)
    ]
    return holds and at == len(signed), head, codes


def texts(values):
    return whole(len(values)) + b"".join(text(value) for value in values)


def names_hash(names, labels=()):
    """The hash over labels and all names, in order of ticket (spec §5)."""
    joined = text("admit.names.v1") + texts(labels)
    for name in sorted(names, key=lambda name: name["ticket_id"]):
        joined += text(name["ticket_id"]) + text(name["name"]) + whole(name["party_size"])
        joined += maybe(name["note"], text) + maybe(name["flag"], text) + texts(name.get("fields", []))
    return "sha256:" + hashlib.sha256(joined).hexdigest()


def content_hash(tickets):
    """The hash of 256 bucket hashes over records sorted by hash (spec §5)."""
    buckets = [hashlib.sha256() for _ in range(256)]
    for ticket in sorted(tickets, key=lambda ticket: ticket["barcode_hash"]):
        prefix = bytes.fromhex(ticket["barcode_hash"][len("sha256:"):])[:16]
        gates = sorted(set(ticket["gate_ids"]))
        rules = text(ticket["status"]) + whole(ticket["entry_limit"]) + whole(len(gates))
        rules += b"".join(text(gate) for gate in gates) + text(ticket["zone"])
        for bound in ("valid_from", "expires_at"):
            rules += maybe(ticket[bound], lambda at: whole(milliseconds(at)))
        group = bytes.fromhex(ticket.get("group", ""))
        buckets[prefix[0]].update(prefix + text(ticket["ticket_id"]) + raw(rules) + raw(group))
    joined = text("admit.manifest.v1") + b"".join(raw(bucket.digest()) for bucket in buckets)
    return "sha256:" + hashlib.sha256(joined).hexdigest()


def main(folder):
    counts = dict.fromkeys(
        ["scan_bytes", "v2", "v2_refused", "v1", "v1_refused", "manifest_bodies", "content_hashes", "scan_keys", "pins"], 0
    )

    def cases(name):
        return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["cases"]

    for case in cases("signatures"):
        name, given, out = case["name"], case["in"], case["out"]
        if case["what"] == "sign_v2":
            check(scan_bytes(given["item"]).hex() == out["bytes"], f"bytes of {name}")
            check(sign_v2(given["api_key"], given["item"]) == out["item"]["signature"], name)
            # What our scanner would send signs to the same: nothing is lost on the way to the wire.
            check(scan_bytes(out["item"]).hex() == out["bytes"], f"bytes of {name} as sent")
            counts["scan_bytes"] += 1
            counts["v2"] += 1
        elif case["what"] == "verify_v2":
            check((sign_v2(given["api_key"], given["item"]) == given["item"]["signature"]) == out, name)
            counts["v2" if out else "v2_refused"] += 1
        elif case["what"] == "sign_v1":
            signed, signature = sign_v1(given["api_key"], given["item"])
            check(signed == out["text"], f"text of {name}")
            check(signature == out["item"]["signature"], name)
            counts["v1"] += 1
        elif case["what"] == "verify_v1":
            check((sign_v1(given["api_key"], given["item"])[1] == given["item"]["signature"]) == out, name)
            counts["v1" if out else "v1_refused"] += 1

    for case in cases("manifests"):
        name, given, out = case["name"], case["in"], case["out"]
        if case["what"] == "build_manifest" and "body" in out:
            body = out["body"].encode()
            check(body_signatures_hold(body, out["header"], given["api_key"]), name)
            counts["manifest_bodies"] += 1
            read = json.loads(body)
            check(list(read)[-1] == "signature", f"last member of {name}")
            if "tickets" in read:
                check(content_hash(read["tickets"]) == read["content_hash"], f"content hash of {name}")
                counts["content_hashes"] += 1
        elif case["what"] == "read_manifest":
            refused = out.get("error") in ("header_signature", "body_signature")
            holds = body_signatures_hold(given["body"].encode(), given["header"], given["api_key"])
            check(holds != refused, name)
            counts["manifest_bodies"] += 1

    for case in cases("hashes"):
        given, out = case["in"], case["out"]
        if case["what"] == "barcode_hash":
            check(out == "sha256:" + hashlib.sha256(given.encode()).hexdigest(), case["name"])
        elif case["what"] == "api_key":
            check(out["text"] == "admit_dk_" + given, case["name"])
            check(out["sha256"] == hashlib.sha256(out["text"].encode()).hexdigest(), case["name"])
            check(out["scan_key"] == scan_key(out["text"]).hex(), case["name"])
            counts["scan_keys"] += 1
        elif case["what"] == "pin":
            salt = bytes.fromhex(given["salt"])
            made = hashlib.pbkdf2_hmac("sha256", given["digits"].encode(), salt, given["iterations"])
            check(out["hash"] == made.hex(), case["name"])
            counts["pins"] += 1
        elif case["what"] == "scan":
            check(hashlib.sha256(bytes.fromhex(out["bytes"])).hexdigest() == out["digest"], case["name"])

    print(json.dumps(counts))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
