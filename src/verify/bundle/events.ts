/** @module The events: exactly those of the log that the query asks for, each with the body that was sealed. */

import * as crypto from 'node:crypto'
import { answersOf } from './answer-count.ts'
import { PROOFS_MAX } from './bundle-files.ts'
import type { Checkpoint } from './checkpoint.ts'
import { eventOf, filterOf, headOf, takeAgain } from './event-line.ts'
import { type Bundle, jsonOf, linesOf } from './file-text.ts'
import { isText } from './forms.ts'
import { hexDigest, leafHash, sha256 } from './hashes.ts'
import { macCheck } from './macs.ts'
import type { BundleOptions } from './options.ts'
import type { BundlePredicate } from './predicate.ts'
import type { ReportFacts } from './report-facts.ts'
import { place } from './shown-text.ts'
import type { CheckedLog } from './stream-tree.ts'
import { valueNamedIn } from './values.ts'
import type { Fail, Found } from './verdict.ts'
import { isSigned, type VerifierKey } from './verifier-keys.ts'

/** What is known of a bundle before its events are read. */
interface Known {
  readonly manifest: BundlePredicate
  readonly key: VerifierKey
  readonly checkpoint: Checkpoint
  readonly log: CheckedLog
  readonly facts: ReportFacts
  readonly options: BundleOptions
}

interface TrailerFacts extends Pick<Known, 'manifest' | 'key' | 'checkpoint'> {
  readonly events: number
  readonly digest: string
}

interface Trailer {
  readonly trailer: {
    readonly v: number
    readonly asOf: string
    readonly signature?: { readonly sig: string }
  }
}

/** Answers which events must have a proof file: of up to `PROOFS_MAX` all, else the first and the last. */
export function checkEvents(
  bundle: Bundle,
  { manifest, key, checkpoint, log, facts, options }: Known,
  found: Found,
  fail: Fail,
): readonly ProvenEvent[] {
  const [answers, macFits] = [answersOf(manifest), macCheck(options, found)]
  const [proven, digest] = [[] as ProvenEvent[], crypto.createHash('sha256')]
  let trailer: string | undefined
  const head = headOf(manifest.complete)
  let at = 0
  for (const line of linesOf(bundle, 'events.jsonl', fail)) {
    at += 1
    if (trailer !== undefined) fail('TAMPERED', 'after-trailer', 'events.jsonl goes on after its trailer')
    if (line.startsWith('{"trailer":')) {
      trailer ??= line
      continue
    }
    digest.update(`${line}\n`)
    if (at === 1 && head !== undefined) {
      if (line !== head) fail('TAMPERED', 'other-scope', 'events.jsonl begins with another filter than the query makes')
      continue
    }
    found.events += 1
    const event = eventOf(line)
    if (event === undefined) {
      fail('TAMPERED', 'line', `line ${at} of events.jsonl is no event`)
      continue
    }
    const { header, headerText, salt, dataText } = event
    const leaf = leafHash(headerText)
    const index = log.placeOf(event, leaf, fail)
    if (hexDigest(sha256(Buffer.from(salt, 'base64url'), dataText)) !== header.dataDigest)
      fail('TAMPERED', 'data-digest', `the body of ${place(header)} is not the one that was sealed`)
    if (!macFits(event)) fail('TAMPERED', 'mac', `the mac of ${place(header)} does not fit`)
    if (valueNamedIn(event.data) !== undefined) found.named += 1
    answers.take(event)
    // Behind the first of many, the last one is kept.
    proven[Math.min(proven.length, PROOFS_MAX)] = { id: header.id, leaf, index }
    facts.take(event)
  }
  takeAgain(bundle, [answers, facts])
  found.matching = answers.count
  log.end(bundle, fail)
  const digestText = hexDigest(digest.digest())
  checkTrailer(trailer, { manifest, key, checkpoint, events: found.events, digest: digestText }, fail)
  if (options.runKey !== undefined && found.macs === 0)
    fail('UNVERIFIABLE', 'run-key', 'no event of the run that the keys belong to is here: no mac was checked')
  return proven.length <= PROOFS_MAX ? proven : [proven[0] as ProvenEvent, proven[PROOFS_MAX] as ProvenEvent]
}

/** An event that has a proof file; `index`: its place in the log, where the log is here. */
export interface ProvenEvent {
  readonly id: string
  readonly leaf: Buffer
  readonly index: number | undefined
}

const TRAILER_TYPE = 'application/vnd.countersign.export-trailer+json'

/** The trailer is the very one that these events, this query and this checkpoint make; since version 2 under the log's key. */
function checkTrailer(
  line: string | undefined,
  { manifest, key, checkpoint, events, digest }: TrailerFacts,
  fail: Fail,
): void {
  if (line === undefined) {
    fail('INCOMPLETE', 'no-trailer', 'events.jsonl has no trailer: it was cut')
    return
  }
  const { v, asOf, signature } = jsonOf<Trailer>(line, 'the trailer of events.jsonl').trailer
  const { ledgerId, tenant, query, complete } = manifest
  const tree = { treeSize: checkpoint.size, root: hexDigest(checkpoint.root) }
  const part = { run: query.run ?? null, filter: filterOf(complete) }
  const said = { v, ledgerId, tenant, ...part, events, digest, asOf, ...tree }
  const signed = v === 1 ? {} : { signature: { key: `${key.name}+${key.id}`, type: TRAILER_TYPE, sig: signature?.sig } }
  if (line !== JSON.stringify({ trailer: { ...said, ...signed } }) || (v !== 1 && v !== 2) || !isText(asOf))
    fail('TAMPERED', 'trailer', 'the trailer of events.jsonl counts, digests or names something else than what is here')
  else if (v !== 1 && !isSigned(TRAILER_TYPE, Buffer.from(JSON.stringify(said)), key, String(signature?.sig)))
    fail('TAMPERED', 'trailer-signature', `the trailer of events.jsonl is not signed with the key of ${key.name}`)
}
