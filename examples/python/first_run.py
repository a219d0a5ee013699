"""A run of two agents over plain HTTP, with Python's standard library alone.

    npx countersign serve
    export COUNTERSIGN_TOKEN=$(npx countersign token --scope "runs:write runs:read audit:read")
    python3 examples/python/first_run.py
"""
import json
import os
import urllib.error
import urllib.request
import uuid

URL = os.environ.get("COUNTERSIGN_URL", "http://127.0.0.1:7070")
TOKEN = os.environ["COUNTERSIGN_TOKEN"]


def api(method, path, body=None):
    """The status and the JSON of an answer. A refusal is an answer too: its body says what was wrong."""
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    if method == "POST":
        # Sent again under the same key after a broken connection, a request gets the answer of the first.
        headers["Idempotency-Key"] = str(uuid.uuid4())
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{URL}/v1/{path}", data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            # A replay has a line for each event, and its verdict in the last one; everything else is one line.
            return answer.status, json.loads(answer.read().splitlines()[-1])
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)


def once(run, tool, args, function):
    """Runs a function at most once: claimed before, settled after. Asked again, it answers from the record."""
    status, claim = api("POST", f"runs/{run}/calls", {"tool": tool, "args": args})
    if status == 200 and claim.get("status") == "succeeded":
        return claim["result"]
    if status != 201:
        raise RuntimeError(f"{claim['code']}: {claim['detail']}")
    result = function(**args)
    api("POST", f"runs/{run}/calls/{claim['callId']}/settle", {"fence": claim["fence"], "result": result})
    return result


def charge(cents):
    print(f"charging {cents}")
    return {"payment": "p-1", "cents": cents}


def main():
    run = f"python-{uuid.uuid4()}"
    api("POST", "runs", {"id": run, "name": "python", "budget": {"tokens": 1000}})

    # What one agent established …
    status, first = api("POST", f"runs/{run}/envelopes", {"agent": "researcher", "payload": {"entities": ["Apple"], "revenue": 2024}})
    print("researcher:", status)

    # … the next may not contradict. The run stays at the last accepted context.
    status, refused = api("POST", f"runs/{run}/envelopes", {"agent": "writer", "payload": {"summary": "growth"}})
    print("writer:", status, refused["code"], [finding["path"] for finding in refused["findings"]])

    print("paid:", once(run, "charge", {"cents": 2500}, charge))
    print("paid once:", once(run, "charge", {"cents": 2500}, charge))

    _, replay = api("GET", f"runs/{run}/replay")
    print("replay:", replay["verdict"])
    status, _ = api("POST", f"runs/{run}/complete", {"output": {"paid": True}})
    print("complete:", status)


if __name__ == "__main__":
    main()
