"""Credentials that fit, ids that are real, and a count of what was answered: loaded by schemathesis.

Only data that is right by the document is touched, and not every time: one call in five goes out as it was generated.
What was made wrong on purpose goes out as it is. Checks see what was really sent.
"""

import atexit
import collections
import copy
import json
import os

import schemathesis
from schemathesis.core.parameters import ParameterLocation
from world import EMAIL, PASSWORD, World, barcode_hash, moment

WORLD = World(os.environ["CONTRACT_URL"], os.environ["CONTRACT_TOKEN"])
COUNTS = collections.defaultdict(collections.Counter)
TURNS = collections.Counter()
DEVICE_SYNCS = {"POST /api/scanning/sync", "POST /api/scans/sync"}
# Counted by the address they come from: 200 examples of one address would mostly be told to come later.
PER_ADDRESS = {"GET /passes", "POST /api/scanning/pairing-requests"}


@atexit.register
def keep_counts():
    with open(os.environ["CONTRACT_COUNTS"], "w") as file:
        json.dump(COUNTS, file)


# ---------------------------------------------------------------------------------------------------------- credentials


@schemathesis.auth(refresh_interval=None)
class Credentials:
    """The device's key, a session's cookie, an API token: whichever the operation takes, in turns where it takes two."""

    def get(self, case, context):
        label = case.operation.label
        schemes = [name for one in case.operation.definition.raw.get("security", []) for name in one]
        if "device_key" in schemes:
            return "bearer", WORLD.online_device()[1] if label == "POST /api/scans" else WORLD.key
        if label == "DELETE /api/session":
            return "cookie", WORLD.new_session()
        if "session" in schemes and TURNS[label] % 2:
            return "cookie", WORLD.session
        return ("bearer", WORLD.token) if "api_token" in schemes else (None, None)

    def set(self, case, data, context):
        kind, secret = data
        if kind == "bearer":
            case.headers["Authorization"] = f"Bearer {secret}"
        elif kind == "cookie":
            case.cookies["admit_session"] = secret


# -------------------------------------------------------------------------------------------------------------- real ids


def in_path(label, name):
    """A real thing for a variable of a path."""
    method, path = label.split(" ")
    noun = path.split("{" + name + "}")[0].rstrip("/").rsplit("/", 1)[-1]
    if name == "token":
        return WORLD.new_pairing_request()
    if name == "gate_id":
        return "spare"
    if noun == "events":
        return WORLD.event_to_change() if label == "PATCH /api/events/{id}" else WORLD.event
    if name == "endpoint":
        return WORLD.webhook["id"]
    if noun == "webhook-endpoints":
        return WORLD.spare_webhook["id"]
    if noun == "api-tokens":
        return WORLD.new_api_token()
    if noun == "members":
        return WORLD.new_member() if method == "DELETE" else WORLD.promoter
    if noun == "tickets":
        return WORLD.tickets[TURNS[label] % len(WORLD.tickets)]
    if noun == "runs":
        return WORLD.run
    if noun == "devices":
        return WORLD.new_device()[0] if method == "DELETE" else WORLD.spare_device
    return {"guests": WORLD.guest, "incidents": WORLD.incident, "guest-lists": WORLD.guest_list}[noun]


def in_query(name):
    """A real thing for a filter, an empty text for none."""
    real = {"event_id": WORLD.event, "ticket_id": WORLD.tickets[0], "device_id": WORLD.device}
    real |= {"guest_id": WORLD.guest, "token": WORLD.pass_token}
    return real.get(name)


REFERENCES = {
    "gate_id": lambda: "main",
    "event_id": lambda: WORLD.event,
    "entry_type_id": lambda: WORLD.entry_type,
    "guest_list_id": lambda: WORLD.guest_list,
    "promoter_id": lambda: WORLD.promoter,
    "organization_id": lambda: None,
    "device_id": lambda: WORLD.device,
}
# Texts whose form the document tells in words.
FORMS = {
    "email": lambda: f"guest-{next(WORLD.number)}@contract.example",
    "reply_to": lambda: f"office-{next(WORLD.number)}@contract.example",
    "color": lambda: "#0f5c4a",
    "phone": lambda: "+49 30 1234567",
    "staff_pin": lambda: "2468",
    "time_zone": lambda: "Europe/Berlin",
    "zone": lambda: "general",
    "password": lambda: PASSWORD,
    "barcode": lambda: f"MADE-{next(WORLD.number)}",
    "starts_at": lambda: moment(-2),
    "ends_at": lambda: moment(10),
    "valid_from": lambda: moment(-2),
    "expires_at": lambda: moment(10),
}
LINES = ("name", "subject", "venue", "flag", "external_id", "app_version", "note")


def fitted(value, name=None):
    """The same value with real references, and texts in the form that the document tells in words."""
    if isinstance(value, dict):
        return {key: fitted(item, key) for key, item in value.items()}
    if name == "gate_ids" and isinstance(value, list):
        return ["main"] if value else []
    if name == "zones" and isinstance(value, list):
        return ["general"] if value else []
    if isinstance(value, list):
        return [fitted(item) for item in value[:50]]
    if isinstance(value, str):
        if name in REFERENCES:
            return REFERENCES[name]()
        if name in FORMS:
            return FORMS[name]()
        if name in LINES:
            return "".join(c for c in value if c.isprintable())[:80].strip() or "a name"
    if isinstance(value, int) and not isinstance(value, bool):
        if name in ("party_size", "entry_limit", "capacity", "uses"):
            return 1 + value % 100
        if name == "min_gap_seconds":
            return value % 1000
    return value


def sync_v1(item, n):
    code = WORLD.codes[n % len(WORLD.codes)]
    item = {"scan_id": f"contract-{next(WORLD.number)}", "barcode_hash": barcode_hash(code), "gate_id": "main"}
    return item | {"ticket_id": None, "scanned_at": moment(-0.5), "outcome": "valid", "signature": "HMAC-SHA256=" + "0" * 64}


def body_of(label, body):
    """A body that the operation takes, made of the generated one."""
    method, path = label.split(" ")
    if path == "/api/scanning/pair":
        body = fitted(body) | {"pairing_token": WORLD.new_pairing_token(), "device_id": f"new-{next(WORLD.number)}"}
        body.pop("claim_secret", None)
        return body
    if path == "/api/scanning/pairing-requests":
        return fitted(body) | {"device_id": f"asks-{next(WORLD.number)}"}
    if path == "/api/session" and method == "POST":
        return {"email": EMAIL, "password": PASSWORD}
    if path == "/api/scanning/sync":
        scans = [sync_v1(item, n) if n % 2 else item for n, item in enumerate(body["scans"][:50])]
        body = body | {"device_id": WORLD.device, "sync_batch_id": f"batch-{next(WORLD.number)}", "scans": scans}
        return body | {"format": 1, "batch_created_at": moment(), "offset_seconds": 0, "log_id": WORLD.log, "head": 0}
    if path == "/api/scans":
        code = WORLD.codes[TURNS[label] % len(WORLD.codes)]
        return {"ticket_code": code, "scanned_at": moment(-0.1), "offline_id": f"online-{next(WORLD.number)}"}
    if path == "/api/scans/sync":
        scans = [
            {"ticket_code": WORLD.codes[n % 40], "scanned_at": moment(-0.2), "offline_id": f"s2-{next(WORLD.number)}"}
            for n, _ in enumerate(body["scans"][:50])
        ]
        body = {"batch_id": f"batch-{next(WORLD.number)}", "device_id": WORLD.device, "batch_created_at": moment()}
        return body | {"scans": scans, "batch_size": len(scans)}
    if path.endswith("/heartbeat") or path == "/api/scanning/log-status":
        # A log is its device's own, and its numbers do not run ahead of what a phone could have counted.
        numbers = ("head", "pending", "battery", "manifest_version")
        small = {name: body[name] % 100 for name in numbers if isinstance(body.get(name), int) and body[name]}
        return fitted(body) | small | {"log_id": WORLD.log}
    if path.startswith("/api/webhook-endpoints"):
        # Names of columns are texts that the document tells in words.
        columns = body.get("columns")
        names = {key: value and fitted(value, "name") for key, value in columns.items()} if columns else None
        return fitted({key: value for key, value in body.items() if key != "columns"}) | {"columns": names}
    if path == "/api/webhooks/guests/{endpoint}":
        n = next(WORLD.number)
        row = {"id": n, "name": f"Guest {n}", "email": f"guest-{n}@contract.example", "party_size": 1 + n % 5}
        return {"type": "INSERT", "table": "guests", "record": row, "old_record": None, "sequence": n}
    if path == "/api/events/{id}/gates":
        return fitted(body) | {"id": f"gate-{next(WORLD.number)}"}
    if path in ("/api/events/{id}/entry-types", "/api/events/{id}/guest-lists"):
        return fitted(body) | {"name": f"name {next(WORLD.number)}"}
    if path == "/api/events/{id}/guests/resend":
        whom = {"guest_ids": [WORLD.guest]} if TURNS[label] % 2 else {"filter": {"state": "to_come"}}
        return whom | {"dry_run": bool(TURNS[label] % 3)}
    if path == "/api/incidents/{id}/resolve":
        return {"decision": "note", "note": "looked at"} if TURNS[label] % 2 else fitted(body)
    return fitted(body)


def file_of(label):
    n = next(WORLD.number)
    if label.endswith("/tickets/import"):
        return f"barcode,name,party_size\nFILE-{n},Guest {n},2\n"
    return "{}\n"


def signed(request):
    body = request.body.encode() if isinstance(request.body, str) else request.body
    request.headers.update(WORLD.signed(body))
    return request


@schemathesis.hook
def before_call(context, case, kwargs):
    label, meta = case.operation.label, case.meta
    TURNS[label] += 1
    if meta is None or TURNS[label] % 5 == 0:
        return
    right = lambda place: not meta.is_negative_at(place)
    if label in PER_ADDRESS:
        case.headers["X-Forwarded-For"] = WORLD.new_address()
    if case.path_parameters and right(ParameterLocation.PATH):
        if "log_id" in case.path_parameters:
            case.path_parameters["id"], case.path_parameters["log_id"] = WORLD.new_log()
        else:
            for name in list(case.path_parameters):
                case.path_parameters[name] = in_path(label, name)
    if case.query and right(ParameterLocation.QUERY):
        case.query.pop("cursor", None)
        if "wait" in case.query:
            case.query["wait"] = 0
        for name in list(case.query):
            real = in_query(name)
            if real is not None:
                case.query[name] = real
            elif name in ("dry_run", "accept", "decided"):
                case.query[name] = "1"
    if right(ParameterLocation.HEADER) and "X-Device-Time" in case.headers:
        case.headers["X-Device-Time"] = moment()
    if right(ParameterLocation.BODY):
        if isinstance(case.body, dict | list):
            if label == "POST /api/events/{id}/tickets" or isinstance(case.body, dict):
                case.body = body_of(label, copy.deepcopy(case.body))
            if label == "POST /api/webhooks/guests/{endpoint}":
                # The bytes that go out are signed: the case itself keeps a body that is right by the document.
                kwargs["auth"] = signed
        elif isinstance(case.body, str) and case.media_type in ("text/csv", "application/x-ndjson"):
            case.body = file_of(label)


@schemathesis.hook
def after_call(context, case, response):
    label, status = case.operation.label, response.status_code
    COUNTS[label][str(status)] += 1
    if label in DEVICE_SYNCS and status in (400, 409):
        WORLD.let_go_on(WORLD.device)
    if label == "PATCH /api/events/{id}" and status == 200:
        changed = response.json()
        if changed["id"] == WORLD.open_event and changed["status"] in ("ended", "archived"):
            WORLD.open_event = None


# ------------------------------------------------------------------------------------------------------------ text files


@schemathesis.serializer("text/csv", "application/x-ndjson")
def as_text(context, value):
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()
