/** @module What else lies in a bundle follows from the events: it is made again and compared. */
import type { Listed } from './bounded-lists.ts'
import { PROOF_NAME } from './bundle-files.ts'
import type { Checkpoint } from './checkpoint.ts'
import type { Row } from './event-rows.ts'
import type { ProvenEvent } from './events.ts'
import { type Bundle, textOf } from './file-text.ts'
import { base64, HASH_BYTES, includes } from './hashes.ts'
import { EARLIER_VERIFIERS, ownDigest } from './own-file.ts'
import type { BundlePredicate, BundleProof } from './predicate.ts'
import { readmeText } from './readme.ts'
import { reportHtml } from './report.ts'
import type { ReportFacts } from './report-facts.ts'
import { shown } from './shown-text.ts'
import type { Fail } from './verdict.ts'
import { jwksText, type VerifierKey } from './verifier-keys.ts'

/** What proof files are held against. */
interface Provable {
  readonly proven: readonly ProvenEvent[]
  /** Text of the checkpoint. */
  readonly note: string
  readonly checkpoint: Checkpoint
  readonly manifest: BundlePredicate
  readonly events: number
}

/** What the texts of a bundle are made of. */
interface Making {
  readonly manifest: BundlePredicate
  readonly proof: BundleProof
  readonly hasValues: boolean
  readonly hasStamp: boolean
  readonly key: VerifierKey
  readonly facts: ReportFacts
  /** Digest of the verifier in the bundle. */
  readonly maker: string
  readonly listed: Listed<Row> | undefined
}

/** Each proof file (C2SP tlog-proof) proves its event against the checkpoint, in the one form that it can have. */
export function checkProofs(
  bundle: Bundle,
  { proven, note, checkpoint, manifest, events }: Provable,
  fail: Fail,
): void {
  const word = events === 0 ? 'none' : proven.length === events ? 'every event' : 'first and last event'
  if (manifest.proofs !== word) fail('TAMPERED', 'proofs', `the manifest promises other proof files than for ${word}`)
  const expected = new Set<string>()
  let before = -1
  for (const { id, leaf, index: placed } of proven) {
    const name = `proofs/${id}.tlog-proof`
    expected.add(name)
    if (!bundle.files.has(name)) {
      fail('INCOMPLETE', 'file-missing', `${shown(name)} is missing`)
      continue
    }
    const lines = textOf(bundle, name).slice(0, -note.length).split('\n')
    const path = lines.slice(2, -2).map(base64) as Buffer[]
    // Without the log, the file itself says where its event stands; the events of a run stand in their order.
    const index = placed ?? Number(/^index (0|[1-9]\d{0,15})$/.exec(lines[1] as string)?.[1])
    const isForm =
      (placed !== undefined || index > before) &&
      index < checkpoint.size &&
      textOf(bundle, name).endsWith(`\n\n${note}`) &&
      lines[0] === 'c2sp.org/tlog-proof@v1' &&
      lines[1] === `index ${index}` &&
      path.every((hash) => hash?.length === HASH_BYTES)
    if (!isForm || !includes({ index, size: checkpoint.size, leaf, path, root: checkpoint.root }))
      fail('TAMPERED', 'proof', `${shown(name)} does not prove its event against the checkpoint`)
    before = index
  }
  for (const name of bundle.files.keys())
    if (PROOF_NAME.test(name) && !expected.has(name))
      fail('TAMPERED', 'foreign-file', `${name} proves no event of the bundle`)
}

export function checkTexts(
  bundle: Bundle,
  { manifest, proof, hasValues, hasStamp, key, facts, maker, listed }: Making,
  fail: Fail,
): void {
  const compare = (name: string, text: string, why: string): void => {
    if (textOf(bundle, name) !== text) fail('TAMPERED', 'other-text', `${name} is not ${why}`)
  }
  compare('README.txt', readmeText(manifest, proof, hasValues, hasStamp), 'the one that this manifest makes')
  compare('jwks.json', jwksText(key), 'the key of the log')
  compare('report.html', reportHtml(facts, manifest, listed), 'the one that these events make')
  if (maker !== ownDigest() && !EARLIER_VERIFIERS.includes(maker))
    fail('UNVERIFIABLE', 'foreign-verifier', FOREIGN_VERIFIER)
}

const FOREIGN_VERIFIER =
  'the verify.mjs inside is neither this verifier nor an earlier one: a later version made the bundle, or somebody changed it; do not run it, and check the bundle with the verifier of the version that made it'
