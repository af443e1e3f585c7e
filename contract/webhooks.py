"""Messages signed by the official Standard Webhooks library for Python, to a really served Admit (issue 4): `cargo xtask
webhooks` runs it. The library for JavaScript does the same in web/e2e/webhooks.test.ts.

    python webhooks.py --admit PATH
"""

import argparse
import json
import pathlib
import signal
import sys
import tempfile
import urllib.error
import urllib.request
from datetime import datetime, timedelta, timezone

from served import ended, served
from standardwebhooks import Webhook

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def post(url, body, headers, method="POST"):
    """Status and JSON of an answer."""
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"} | headers, method=method)
    try:
        with OPENER.open(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


def organiser(url, token, path, body):
    status, answer = post(url + path, json.dumps(body).encode(), {"Authorization": f"Bearer {token}"})
    assert status in (200, 201), (path, status, answer)
    return answer


def send(endpoint, webhook, message_id, body, at=None, said=None):
    """A message signed by the library; `said` is what goes out where that is another body than the one signed."""
    at = at or datetime.now(timezone.utc)
    headers = {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": webhook.sign(message_id, at, body),
    }
    return post(endpoint["url"], (said or body).encode(), headers)


def check(url, token):
    event = {"name": "Night", "venue": "Harbour", "time_zone": "UTC", "starts_at": "2026-01-01T18:00:00Z"}
    event = organiser(url, token, "/api/events", event | {"ends_at": "2099-01-01T18:00:00Z"})
    endpoint = organiser(url, token, "/api/webhook-endpoints", {"event_id": event["id"], "name": "Python"})
    webhook = Webhook(endpoint["secret"])
    body = json.dumps({"type": "INSERT", "record": {"id": 7, "name": "Zoë 🎟", "email": "zoe@example.org"}}, ensure_ascii=False)
    now = datetime.now(timezone.utc)

    status, first = send(endpoint, webhook, "msg_1", body)
    assert (status, first["status"]) == (200, "created"), first
    assert send(endpoint, webhook, "msg_1", body) == (200, first), "the same again"
    status, answer = send(endpoint, webhook, "msg_1", body.replace("Zo", "Jo"))
    assert (status, answer["code"]) == (409, "webhook_id_reused"), answer
    status, answer = send(endpoint, webhook, "msg_2", body.replace("INSERT", "UPDATE"), at=now - timedelta(minutes=4))
    assert (status, answer["status"]) == (200, "unchanged"), answer

    refused = {
        "another body": (send(endpoint, webhook, "msg_3", body, said=body + " "), "webhook_refused"),
        "another secret": (send(endpoint, Webhook("whsec_" + "A" * 43 + "="), "msg_3", body), "webhook_refused"),
        "six minutes old": (send(endpoint, webhook, "msg_3", body, at=now - timedelta(minutes=6)), "webhook_too_old"),
        "six minutes ahead": (send(endpoint, webhook, "msg_3", body, at=now + timedelta(minutes=6)), "webhook_too_new"),
    }
    for name, ((status, answer), code) in refused.items():
        assert (status, answer["code"]) == (401, code), (name, status, answer)

    rotated = organiser(url, token, f"/api/webhook-endpoints/{endpoint['id']}/rotate-secret", None)
    for secret in (endpoint["secret"], rotated["secret"]):
        status, answer = send(endpoint, Webhook(secret), f"msg_{secret[-9:]}", body)
        assert (status, answer["status"]) == (200, "unchanged"), answer
    print(f"signed by standardwebhooks for Python: 5 taken in, {len(refused) + 1} refused")


def main():
    signal.signal(signal.SIGTERM, ended)
    parser = argparse.ArgumentParser()
    parser.add_argument("--admit", required=True)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="admit-webhooks-") as name:
        with served(asked.admit, pathlib.Path(name)) as (url, token):
            check(url, token)
    sys.exit(0)


if __name__ == "__main__":
    main()
