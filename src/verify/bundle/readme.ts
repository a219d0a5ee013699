/** @module README.txt of a bundle. */

import { lossesText } from '../../../schemas/loss.ts'
import { PROOFS } from './bundle-files.ts'
import type { BundlePredicate, BundleProof } from './predicate.ts'

/** README.txt: what is in a bundle, and how to check it. Its bytes are part of the format. */
export function readmeText(
  { origin, tenant, query, complete, checkpoint, counts, proofs, time, answer, losses }: BundlePredicate,
  proof: BundleProof,
  hasValues = false,
  hasStamp = false,
): string {
  const whole = JSON.stringify(query) === JSON.stringify(complete)
  const rest = whole
    ? ''
    : '\nThe bundle holds every event of that part; verify.mjs evaluates the rest of the query on their bodies.'
  return `Evidence bundle of a Countersign ledger, ${time}

Log ${origin}, tenant ${tenant}, ${checkpoint.size} events, root ${checkpoint.root}
${
  answer === undefined
    ? ''
    : `Answer to ${JSON.stringify(answer.question)}: ${answer.rows} rows, which follow from the events of this query:
`
}Query ${JSON.stringify(query)}
${losses === undefined ? 'Complete' : `NOT WHOLE, says the ledger itself: ${lossesText(losses)}\nAs far as it goes`} for ${JSON.stringify(complete)}: ${counts.events} events, ${counts.matching} of them answer the query.${rest}

To check it, with Node 18 or newer and nothing else:

  node verify.mjs BUNDLE.tar --key 'VERIFIER KEY OF THE LOG' [--checkpoint EARLIER-CHECKPOINT]

Get the key, and best verify.mjs too, from another hand than the one that gave you this bundle: "countersign checkpoint --key" prints
the key. A checkpoint that you kept from before shows that the history up to it was not written anew since.

  report.html         the same to read: who, what, when, verdicts, open points
${answer === undefined ? '' : ANSWER_TEXT}  events.jsonl        the events, one a line: sealed header, salt, body; the last line counts them
${PROOF_TEXTS[proof]}
  checkpoint          size and root of the log, a signed note (C2SP tlog-checkpoint), with the cosignatures of witnesses
  proofs/             for ${proofs}: a proof file of its own (C2SP tlog-proof), for other tools; ${PROOFS[proof]} proves every event
  verifier-key.txt    the key that signed, as a verifier key (C2SP signed-note); jwks.json has it as a JWK
${hasValues ? VALUES_TEXT : ''}${hasStamp ? STAMP_TEXT : ''}  manifest.json       query, counts and the digest of each file (in-toto Statement v1); manifest.dsse.json is the same, signed (DSSE)
  verify.mjs          the verifier: one file, to be read before it is believed

None of this shows that what was recorded is true, nor that everything that happened was recorded.
`
}

const ANSWER_TEXT = `  answer.jsonl        the question, then its rows, one a line: verify.mjs makes each of them again from the events
`

const STAMP_TEXT = `  timestamp.tsr       a time-stamping authority's answer (RFC 3161): the checkpoint in timestamp.txt existed by then; timestamp.json shows that
                      the log continues it. openssl ts -verify -data timestamp.txt -in timestamp.tsr -CAfile AUTHORITY.pem
`

const VALUES_TEXT = `  values.jsonl        the large values that the events name, a part of one a line: SHA-256 over salt and text is the digest that is named
`

/** What README.txt says of the file that shows that nothing is missing. */
const PROOF_TEXTS: Readonly<Record<BundleProof, string>> = {
  log: `  log.jsonl           the headers of ALL events of the log, one a line, in order: they make the root that the checkpoint signed, and so
                      show that no event is missing. They hold no payload, but the names of runs, actors and types of the whole tenant.`,
  stream: `  stream.json         how many events the run has, and their digest, with the way to the tree of streams that the checkpoint names: so
                      none is missing, and nothing of other runs is here. That tree is the word of the log's signer, the same to all
                      who hold the checkpoint; a bundle with the whole log, or "countersign verify" of the store, makes it again.`,
}
