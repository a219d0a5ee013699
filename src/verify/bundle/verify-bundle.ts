/** @module One bundle, checked from its archive to its answer. */

import * as fs from 'node:fs'
import { checkAnswer } from './answer.ts'
import { openBundle } from './archive.ts'
import { NEEDED } from './bundle-files.ts'
import { checkForks, checkWitnesses, openCheckpoint, signerOf } from './checkpoint.ts'
import { checkEvents } from './events.ts'
import { type Bundle, digestOfFile, fileOf, textOf } from './file-text.ts'
import { hexDigest } from './hashes.ts'
import { checkLog } from './log.ts'
import { checkProofs, checkTexts } from './made-files.ts'
import { checkManifest } from './manifest.ts'
import type { BundleOptions } from './options.ts'
import { FIRST_VERIFIER } from './own-file.ts'
import type { BundlePredicate } from './predicate.ts'
import { ReportFacts } from './report-facts.ts'
import { checkStream } from './stream-tree.ts'
import { checkSucceededKey } from './succeeded-key.ts'
import { checkStamp } from './timestamp.ts'
import { checkValues, NOT_ASKED_FOR } from './values.ts'
import { type About, type BundleVerdict, type Fail, type Found, SEVERITY, Stop } from './verdict.ts'
import { keyOf, type VerifierKey } from './verifier-keys.ts'

/**
 * Checks one bundle, a path or the bytes of a tar: `verdict` is the worst that was found, `faults` say what and where. Nothing that a
 * bundle holds makes it throw.
 */
export function verifyBundle(source: string | Uint8Array, options: BundleOptions = {}): BundleVerdict {
  const found: Found = {
    verdict: 'VERIFIED',
    faults: [],
    notes: [],
    events: 0,
    leaves: 0,
    matching: 0,
    named: 0,
    values: 0,
    macs: 0,
    witnesses: [],
  }
  const fail: Fail = (verdict, code, message) => {
    if (SEVERITY.indexOf(verdict) > SEVERITY.indexOf(found.verdict)) found.verdict = verdict
    if (found.faults.length < 1000) found.faults.push({ verdict, code, message })
  }
  const bundle = openBundle(source, fail)
  try {
    checkBundle(bundle, options, found, fail)
  } catch (error) {
    if (error instanceof Stop) fail(error.verdict, error.code, error.message)
    // What the system says of a file is for whoever asked; everything else that goes wrong, the bundle made go wrong.
    else if ((error as NodeJS.ErrnoException).syscall !== undefined) throw error
    else fail('TAMPERED', 'malformed', `a file has not the form that it must have: ${(error as Error).message}`)
  } finally {
    for (const fd of bundle.open) fs.closeSync(fd)
  }
  return found
}

function checkBundle(bundle: Bundle, options: BundleOptions, found: Found, fail: Fail): void {
  for (const name of NEEDED) if (!bundle.files.has(name)) fail('INCOMPLETE', 'file-missing', `${name} is missing`)
  const key = keyOf(bundle, options, found, fail)
  const { manifest, proof, hasValues, hasStamp } = checkManifest(bundle, key, fail)
  found.proof = proof
  found.about = aboutOf(manifest, key)
  const note = textOf(bundle, 'checkpoint')
  const checkpoint = openCheckpoint(note, key, 'the checkpoint')
  const { size, root } = manifest.checkpoint
  if (manifest.tenant !== checkpoint.tenant || size !== checkpoint.size || root !== hexDigest(checkpoint.root))
    fail('TAMPERED', 'other-checkpoint', 'the manifest is about another checkpoint than the one that is here')
  checkWitnesses(checkpoint, { ...options, logKey: key }, found, fail)
  const stamped = hasStamp ? checkStamp(bundle, { checkpoint, key, options }, found) : undefined
  const kept =
    options.checkpoint === undefined
      ? undefined
      : openCheckpoint(
          options.checkpoint,
          signerOf(options.checkpoint, key),
          'the checkpoint that was kept',
          'UNVERIFIABLE',
        )
  if (kept !== undefined) found.about.kept = kept.size
  checkForks(
    [checkpoint, kept, stamped].filter((each) => each !== undefined),
    fail,
  )
  const check = proof === 'stream' ? checkStream : checkLog
  const log = check(bundle, { manifest, checkpoint, kept, stamped }, fail)
  found.leaves = log.size
  found.notes.push(...log.notes)
  const maker = digestOfFile(fileOf(bundle, 'verify.mjs'))
  const facts = new ReportFacts(maker === FIRST_VERIFIER)
  const proven = checkEvents(bundle, { manifest, key, checkpoint, log, facts, options }, found, fail)
  found.about.period = facts.first === undefined ? undefined : [facts.first, facts.last as string]
  checkSucceededKey({ key, manifest, checkpoint, kept, latest: log.latest() }, found, fail)
  checkCounts(manifest.counts, found, fail)
  if (hasValues) checkValues(bundle, found, fail)
  else if (found.named > 0) found.notes.push(`${found.named} events name ${NOT_ASKED_FOR}`)
  checkProofs(bundle, { proven, note, checkpoint, manifest, events: found.events }, fail)
  const listed = manifest.answer === undefined ? undefined : checkAnswer(bundle, manifest, found, fail)
  checkTexts(bundle, { manifest, proof, hasValues, hasStamp, key, facts, maker, listed }, fail)
}

function aboutOf(manifest: BundlePredicate, { name, id }: VerifierKey): About {
  const { query, tenant, ledgerId, checkpoint, exportedBy, time, exportId } = manifest
  return { log: name, key: `${name}+${id}`, ledgerId, tenant, query, ...checkpoint, exportedBy, time, exportId }
}

function checkCounts(counts: BundlePredicate['counts'], found: Found, fail: Fail): void {
  for (const [name, what] of [
    ['events', 'events'],
    ['matching', 'events that answer the query'],
    ['leaves', 'events of the log'],
  ] as const) {
    const verdict = found[name] < counts[name] ? 'INCOMPLETE' : 'TAMPERED'
    if (found[name] !== counts[name])
      fail(verdict, 'count', `${found[name]} ${what} are here, the manifest counts ${counts[name]}`)
  }
}
