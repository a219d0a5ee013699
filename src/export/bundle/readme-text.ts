/** @module README.txt of a bundle: what is in it, and how to check it. */
import type { BundlePredicate } from './statement.ts'

export function readmeText({
  origin,
  tenant,
  query,
  complete,
  checkpoint,
  counts,
  proofs,
  time,
}: BundlePredicate): string {
  const whole = JSON.stringify(query) === JSON.stringify(complete)
  const rest = whole
    ? ''
    : '\nThe bundle holds every event of that part; verify.mjs evaluates the rest of the query on their bodies.'
  return `Evidence bundle of a Countersign ledger, ${time}

Log ${origin}, tenant ${tenant}, ${checkpoint.size} events, root ${checkpoint.root}
Query ${JSON.stringify(query)}
Complete for ${JSON.stringify(complete)}: ${counts.events} events, ${counts.matching} of them answer the query.${rest}

To check it, with Node 18 or newer and nothing else:

  node verify.mjs BUNDLE.tar --key 'VERIFIER KEY OF THE LOG' [--checkpoint EARLIER-CHECKPOINT]

Get the key, and best verify.mjs too, from another hand than the one that gave you this bundle: "countersign checkpoint --key" prints
the key. A checkpoint that you kept from before shows that the history up to it was not written anew since.

  report.html         the same to read: who, what, when, verdicts, open points
  events.jsonl        the events, one a line: sealed header, salt, body; the last line counts them
  log.jsonl           the headers of ALL events of the log, one a line, in order: they make the root that the checkpoint signed, and so
                      show that no event is missing. They hold no payload, but the names of runs, actors and types of the whole tenant.
  checkpoint          size and root of the log, a signed note (C2SP tlog-checkpoint), with the cosignatures of witnesses
  proofs/             for ${proofs}: a proof file of its own (C2SP tlog-proof), for other tools; log.jsonl proves every event
  verifier-key.txt    the key that signed, as a verifier key (C2SP signed-note); jwks.json has it as a JWK
  manifest.json       query, counts and the digest of each file (in-toto Statement v1); manifest.dsse.json is the same, signed (DSSE)
  verify.mjs          the verifier: one file, to be read before it is believed

None of this shows that what was recorded is true, nor that everything that happened was recorded.
`
}
