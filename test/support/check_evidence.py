"""A second checker of exports (JSONL) and evidence bundles (tar), of another making: Python's standard library alone.

    python3 check_evidence.py FILE...

Prints one JSON object a file: whether what its trailer or manifest claims is true of its bytes, what is not, and the events that it holds.
It recomputes digests of events and bodies, the links of each stream, the Merkle root (RFC 6962) and the tree of streams. Signatures and macs it
does not check: they say who claims, not whether it is so.
"""

import base64
import hashlib
import json
import re
import sys
import tarfile

EVENT = re.compile(rb'\{"header":(\{.*?\}),"salt":"([A-Za-z0-9_-]{22})","data":(\{.*\})\}', re.S)
OF_LOG = re.compile(r"(?:run|ledger|access)-")


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def digest(raw):
    return "sha256:" + raw.hex()


def leaf_hash(header):
    return sha(b"\x00", header)


def root_of(hashes):
    if not hashes:
        return sha()
    if len(hashes) == 1:
        return hashes[0]
    half = 1 << (len(hashes) - 1).bit_length() - 1
    return sha(b"\x01", root_of(hashes[:half]), root_of(hashes[half:]))


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


class Chains:
    """Each stream from its first event on, without a gap."""

    def __init__(self, faults):
        self.last, self.faults = {}, faults

    def add(self, header, own):
        stream, revision = header["stream"], header["revision"]
        before, prev = self.last.get(stream, (-1, None))
        if revision != before + 1 or header.get("prev") != prev:
            self.faults.append(f"{stream} @ {revision} does not continue the event before it")
        self.last[stream] = (revision, own)


def read_events(text, faults, whole_streams):
    """The events of JSONL lines, and the first and the last line where they are none."""
    events, other, chains = [], [], Chains(faults)
    for line in text.split(b"\n"):
        if line == b"":
            continue
        match = EVENT.fullmatch(line)
        if match is None:
            other.append(json.loads(line))
            continue
        header_text, salt, data = match.groups()
        header = json.loads(header_text)
        place = f'{header["stream"]} @ {header["revision"]}'
        if canonical(header) != header_text:
            faults.append(f"{place}: the header is not in its canonical form")
        own = leaf_hash(header_text)
        if header["dataDigest"] != digest(sha(base64.urlsafe_b64decode(salt + b"=="), data)):
            faults.append(f"{place}: the body is not the one that its header names")
        if whole_streams:
            chains.add(header, digest(own))
        events.append((header, own))
    if len({header["id"] for header, _ in events}) != len(events):
        faults.append("an event is there twice")
    return events, other


def check_export(raw, faults):
    body, _, last = raw.rstrip(b"\n").rpartition(b"\n")
    lines = body + b"\n" if body else b""
    trailer = json.loads(last).get("trailer") if last.startswith(b'{"trailer"') else None
    if trailer is None:
        faults.append("there is no trailer: the export was cut")
    is_part = b'{"part":' == lines[:8] or b'{"filter":' == lines[:10]
    events, _ = read_events(lines, faults, not is_part)
    if trailer is None:
        return events
    if trailer["events"] != len(events):
        faults.append(f'the trailer counts {trailer["events"]} events, {len(events)} are here')
    if trailer["digest"] != digest(sha(lines)):
        faults.append("the digest of the trailer is not that of the lines")
    is_whole_log = trailer["run"] is None and not is_part
    if is_whole_log and trailer.get("root") is not None:
        hashes = [own for header, own in events if OF_LOG.match(header["stream"])]
        if len(hashes) != trailer["treeSize"] or digest(root_of(hashes)) != trailer["root"]:
            faults.append(f'the tree of {trailer["treeSize"]} leaves that the trailer names is not that of the events')
    return events


def bit(key, at):
    return key[at >> 3] >> (7 - (at & 7)) & 1


def streams_root(heads, depth=0):
    if len(heads) <= 1:
        return heads[0][1] if heads else bytes(32)
    halves = [streams_root([head for head in heads if bit(head[0], depth) == side], depth + 1) for side in (0, 1)]
    return sha(b"\x11", *halves)


def head_of(stream, hashes):
    grown = bytes(32)
    for own in hashes:
        grown = sha(b"\x12", grown, own)
    key = sha(stream.encode())
    return key, sha(b"\x10", key, len(hashes).to_bytes(8, "big"), grown), grown


def check_bundle(path, faults):
    with tarfile.open(path) as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}
    statement = json.loads(base64.b64decode(json.loads(files["manifest.dsse.json"])["payload"]))
    claim = {**statement["predicate"], "predicateType": statement["predicateType"]}
    named = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
    for name, expected in named.items():
        if hashlib.sha256(files.get(name, b"")).hexdigest() != expected:
            faults.append(f"{name} is not the file that the manifest names")
    note = files["checkpoint"].decode().split("\n")
    size, root = int(note[1]), digest(base64.b64decode(note[2]))
    streams = next((line[11:] for line in note if line.startswith("streams/v1 ")), None)
    if (size, root) != (claim["checkpoint"]["size"], claim["checkpoint"]["root"]):
        faults.append("the manifest is about another checkpoint")
    events, _ = read_events(files["events.jsonl"], faults, "stream.json" in files)
    if claim["counts"]["events"] != len(events):
        faults.append(f'the manifest counts {claim["counts"]["events"]} events, {len(events)} are here')
    check = check_stream if "stream.json" in files else check_log
    check(files, claim, events, (size, root, streams), faults)
    return events


def check_stream(files, claim, events, signed, faults):
    stream = f'run-{claim["tenant"]}.{claim["query"]["run"]}'
    proof = json.loads(files["stream.json"])
    if any(header["stream"] != stream for header, _ in events):
        faults.append("an event is none of the run")
    key, own, grown = head_of(stream, [each for _, each in events])
    if proof["events"] != len(events) or proof["digest"] != digest(grown):
        faults.append(f'the run has {proof["events"]} events by its proof, and these are not they')
    for at, sibling in enumerate(map(base64.b64decode, proof["path"])):
        pair = (sibling, own) if bit(key, len(proof["path"]) - 1 - at) else (own, sibling)
        own = sha(b"\x11", *pair)
    if signed[2] is None or own != base64.b64decode(signed[2]):
        faults.append("the checkpoint does not say that the run has these events, and no more")


def check_log(files, claim, events, signed, faults):
    statement_type = claim["predicateType"]
    size, root, streams = signed
    lines = files["log.jsonl"].rstrip(b"\n").split(b"\n")
    chains, by_stream = Chains(faults), {}
    hashes, headers, lost = [], [], []
    for line in lines:
        header = json.loads(line)
        own = leaf_hash(line)
        if "lost" in header:
            # In the place of a header that is gone: its leaf is what is said of it, and its stream goes on behind it.
            header = header["lost"]
            own = bytes.fromhex(header["digest"].removeprefix("sha256:"))
            header["prev"] = chains.last.get(header["stream"], (-1, None))[1]
            lost.append(own)
        chains.add(header, digest(own))
        by_stream.setdefault(header["stream"], []).append(own)
        hashes.append(own)
        headers.append(header)
    if lost and not (claim.get("losses") and statement_type.endswith(":holed")):
        faults.append(f"{len(lost)} headers are gone, and the manifest names no loss")
    if len(hashes) != size or digest(root_of(hashes)) != root:
        faults.append(f"the {len(hashes)} headers of the log are not the {size} leaves that the checkpoint signed")
    if streams is not None:
        heads = [head_of(stream, own)[:2] for stream, own in by_stream.items()]
        if streams_root(heads) != base64.b64decode(streams):
            faults.append("the tree of streams that the checkpoint names is not the one of these headers")
    there, places = {own for _, own in events}, set(hashes)
    if not there <= places:
        faults.append("an event is not in the log")
    asked = claim["query"]
    if set(asked) - {"run"}:
        return
    stream = f'run-{claim["tenant"]}.{asked["run"]}' if "run" in asked else None
    wanted = {own for header, own in zip(headers, hashes) if stream in (None, header["stream"])} - set(lost)
    if there != wanted:
        faults.append(f"{len(wanted - there)} events that the query names are not here")


def check(path):
    faults = []
    try:
        with open(path, "rb") as file:
            raw = file.read()
        events = check_bundle(path, faults) if path.endswith(".tar") else check_export(raw, faults)
    except (KeyError, ValueError, IndexError, TypeError, tarfile.TarError) as error:
        events = []
        faults.append(f"it cannot be read: {error!r}")
    digests = [digest(own) for _, own in events]
    return {"file": path, "holds": not faults, "faults": faults[:20], "events": digests}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(json.dumps(check(name)))
