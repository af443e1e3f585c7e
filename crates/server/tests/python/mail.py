"""Reads mails with Python's own parser and prints what is in them as a JSON list: a second opinion on what was sent."""

import base64
import email
import email.policy
import json
import sys


def read(path):
    with open(path, "rb") as file:
        mail = email.message_from_binary_file(file, policy=email.policy.default)
    parts = []
    for part in mail.walk():
        if part.is_multipart():
            continue
        content = part.get_payload(decode=True)
        parts.append(
            {
                "type": part.get_content_type(),
                "content_id": part["Content-ID"],
                "text": content.decode("utf-8") if part.get_content_maintype() == "text" else None,
                "bytes": base64.b16encode(content).decode(),
            }
        )
    headers = [[name, str(value)] for name, value in mail.items()]
    return {"headers": headers, "kind": mail.get_content_type(), "parts": parts, "defects": len(mail.defects)}


print(json.dumps([read(path) for path in sys.argv[1:]]))
