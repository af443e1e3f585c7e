"""What the checked server has inside: an organisation with an event, gates, tickets, guests, devices, scans, incidents.

Everything is made over HTTP, as an organiser and a scanner would. What an operation uses up (a token that is withdrawn,
a member who is removed, a device whose right ends) is made anew for each call.
"""

import base64
import hashlib
import hmac
import itertools
import time
from datetime import datetime, timedelta, timezone

import requests
from served import EMAIL, PASSWORD



def moment(hours=0.0):
    return (datetime.now(timezone.utc) + timedelta(hours=hours)).isoformat(timespec="seconds").replace("+00:00", "Z")


def barcode_hash(text):
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


class World:
    def __init__(self, url, token):
        self.url, self.token = url, token
        self.number = itertools.count(1)
        self.http = requests.Session()
        self.http.trust_env = False
        self.event = self.new_event()
        for gate, direction in [("main", "both"), ("spare", "in")]:
            body = {"id": gate, "zones": ["general"], "direction": direction, "names_on_devices": gate == "main"}
            self.post(f"/api/events/{self.event}/gates", body)
        self.entry_type = self.get(f"/api/events/{self.event}/entry-types")["items"][0]["id"]
        self.promoter = self.new_member("promoter")
        self.guest_list = self.post(
            f"/api/events/{self.event}/guest-lists", {"name": "Friends", "promoter_id": self.promoter}
        )["id"]
        self.codes = [f"CODE-{n:04}" for n in range(1, 41)]
        made = self.post(f"/api/events/{self.event}/tickets", [{"barcode": code} for code in self.codes])
        self.tickets = [one["id"] for one in made]
        body = {"name": "Ana", "party_size": 2, "email": "ana@contract.example"}
        guest = self.post(f"/api/events/{self.event}/guests", body)
        self.guest, self.pass_token = guest["id"], guest["ticket"]["barcode"]
        # Nothing is mailed by a server without a mail server: the run stays, to be tried again.
        self.run = self.get(f"/api/events/{self.event}/runs")["items"][0]["id"]
        self.device, self.key = self.new_device()
        self.spare_device, _ = self.new_device()
        self.log = "log-" + self.device
        self.online = self.new_device()
        self.online_calls = 0
        self.session = self.new_session()
        self.incident = self.make_incident()
        self.open_event = None
        self.webhook, self.spare_webhook = self.new_webhook_endpoint(), self.new_webhook_endpoint()

    # ------------------------------------------------------------------------------------------------------- asking

    def call(self, method, path, body=None, key=None, headers=None):
        headers = {"Authorization": f"Bearer {key or self.token}"} | (headers or {})
        answer = self.http.request(method, self.url + path, json=body, headers=headers)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def get(self, path):
        return self.call("GET", path)

    def post(self, path, body=None, key=None):
        return self.call("POST", path, body, key)

    # ------------------------------------------------------------------------------------------------------- making

    def new_event(self):
        body = {"name": "Festival", "venue": "Harbour", "time_zone": "Europe/Berlin", "status": "live"}
        body |= {"starts_at": moment(-2), "ends_at": moment(10), "staff_pin": "2468"}
        return self.post("/api/events", body)["id"]

    def new_member(self, role="viewer"):
        email = f"member-{next(self.number)}@contract.example"
        body = {"email": email, "name": "Member", "password": PASSWORD, "role": role}
        return self.post("/api/members", body)["id"]

    def new_session(self):
        answer = self.http.post(self.url + "/api/session", json={"email": EMAIL, "password": PASSWORD})
        assert answer.ok, answer.text
        cookie = answer.cookies["admit_session"]
        self.http.cookies.clear()
        return cookie

    def new_api_token(self):
        return self.post("/api/api-tokens", {"name": "to be withdrawn"})["id"]

    def new_webhook_endpoint(self):
        return self.post("/api/webhook-endpoints", {"event_id": self.event, "name": "their database"})

    def signed(self, body):
        """The three headers of a webhook message."""
        key = base64.b64decode(self.webhook["secret"].removeprefix("whsec_"))
        message, at = f"msg-{next(self.number)}", str(int(time.time()))
        code = hmac.digest(key, f"{message}.{at}.".encode() + body, "sha256")
        return {
            "webhook-id": message,
            "webhook-timestamp": at,
            "webhook-signature": "v1," + base64.b64encode(code).decode(),
        }

    def new_pairing_token(self):
        return self.post(f"/api/events/{self.event}/pairing-tokens", {"gate_id": "main"})["pairing_token"]

    def new_device(self):
        device = f"device-{next(self.number)}"
        body = {"pairing_token": self.new_pairing_token(), "device_id": device}
        return device, self.post("/api/scanning/pair", body)["api_key"]

    def new_pairing_request(self):
        ask = {"device_id": f"asking-{next(self.number)}", "name": "Asks for itself"}
        headers = {"X-Forwarded-For": self.new_address()}
        return self.call("POST", "/api/scanning/pairing-requests", ask, headers=headers)["pairing_token"]

    def new_address(self):
        """Where somebody asks from who comes through a proxy: what is counted by the address is not counted as ours."""
        n = next(self.number)
        return f"198.18.{n // 250 % 250}.{n % 250 + 1}"

    def new_log(self):
        """A device's log with a gap: what an organiser may close."""
        device, key = self.new_device()
        log = f"log-{next(self.number)}"
        beat = {"log_id": log, "head": 3, "pending": 3}
        self.post(f"/api/scanning/events/{self.event}/heartbeat", beat, key=key)
        return device, log

    def make_incident(self):
        """Two doors let the same ticket in: a person must look at it."""
        for device, key in (self.new_device(), self.new_device()):
            scan = {"ticket_code": self.codes[-1], "scanned_at": moment(-1), "offline_id": f"{device}-1"}
            self.post(
                "/api/scans/sync",
                {
                    "batch_id": f"{device}-batch",
                    "device_id": device,
                    "batch_created_at": moment(),
                    "scans": [scan],
                    "batch_size": 1,
                },
                key=key,
            )
        return self.get(f"/api/events/{self.event}/incidents")["items"][0]["id"]

    def event_to_change(self):
        """An event that may be ended and archived: another one as soon as it is."""
        if self.open_event is None:
            self.open_event = self.new_event()
        return self.open_event

    def online_device(self):
        """Whoever asks about many unknown codes in a minute is told to wait: another device takes over before."""
        self.online_calls += 1
        if self.online_calls % 25 == 0:
            self.online = self.new_device()
        return self.online

    def let_go_on(self, device):
        """Five refused syncs in a row suspend a device, and refusals are what is asked for here."""
        self.post(f"/api/scanning/devices/{device}/resume")
