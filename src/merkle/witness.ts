/** @module The decision of a witness: whether a checkpoint continues the last one that it cosigned (C2SP tlog-witness). Pure: the caller keeps the state. */
import { formatSize, parseAddCheckpoint, SIZE_TYPE } from './add-checkpoint.ts'
import { type Checkpoint, parseCheckpoint } from './checkpoint.ts'
import { type ConsistencyClaim, showsFork, verifyConsistency } from './consistency.ts'
import type { KeyChains } from './followed-keys.ts'
import { emptyRoot, sameHash } from './hashes.ts'
import type { NoteVerifier } from './note-key.ts'
import { openNote, parseNote } from './signed-note.ts'

/** What a witness knows about a log: the last checkpoint that it cosigned. */
export interface Witnessed {
  readonly size: number
  readonly root: Uint8Array
  /** That checkpoint with the log's own signatures; absent if an older release cosigned it, which did not keep it. */
  readonly note?: string
}

/** Two checkpoints signed by one log that cannot both be true. They can be checked with the log's files alone. */
export interface Evidence {
  readonly origin: string
  /** Two texts of one size, or two trees of which, by the proof, the larger does not begin with the smaller. */
  readonly kind: 'same-size' | 'fork' | 'two-successors'
  /** Signed notes, the smaller first, without the signature lines of other keys; for `two-successors`, the two successions of one key. */
  readonly notes: readonly [string, string]
  /** For a fork: the nodes that yield the larger root, but a different root than the signed one for the smaller size (RFC 6962). */
  readonly proof: readonly Uint8Array[]
}

export interface WitnessKnowledge {
  /** Signing keys of each log, by the log's name. */
  readonly logs: KeyChains
  /** By origin; absent if no checkpoint of the log was cosigned yet. */
  readonly witnessed: ReadonlyMap<string, Witnessed>
}

export type WitnessVerdict =
  /** Store the checkpoint durably, then answer with a cosignature of `text`. */
  | { readonly status: 200; readonly checkpoint: Checkpoint; readonly text: string; readonly note: string }
  | {
      readonly status: 400 | 403 | 404 | 409 | 422
      readonly body: string
      readonly contentType?: typeof SIZE_TYPE
      /** Only what the log's own signatures prove: a client that posts a genuine checkpoint with a wrong proof produces no evidence. */
      readonly evidence?: Evidence
    }

export function judgeAddCheckpoint(request: string, known: WitnessKnowledge): WitnessVerdict {
  const parsed = parseAddCheckpoint(request)
  const text = parsed && parseNote(parsed.checkpoint)?.text
  const checkpoint = text === undefined ? undefined : parseCheckpoint(text)
  if (parsed === undefined || text === undefined || checkpoint === undefined)
    return refused(400, 'not an add-checkpoint request')

  if (parsed.oldSize === 0 && parsed.proof.length > 0)
    return refused(400, 'there is no consistency proof from size 0 (RFC 6962): send "old 0" without one')

  const { origin, size } = checkpoint
  const chains = known.logs.get(origin)
  if (chains === undefined) return refused(404, 'this log is not witnessed here')
  const opened = openNote(parsed.checkpoint, keysOf(chains))
  if (!opened.ok)
    return refused(
      403,
      'no key of this log that is known here signed the checkpoint: where the key was rotated, post its successions first',
    )
  if (parsed.oldSize > size) return refused(400, 'the old size is larger than the checkpoint')

  const last = known.witnessed.get(origin) ?? { size: 0, root: emptyRoot() }
  if (isSucceeded(opened.signers, last, chains))
    return refused(403, 'the key that signed this checkpoint was succeeded: one under a later key was cosigned before')
  const claim = { from: last.size, fromRoot: last.root, to: size, toRoot: checkpoint.root, proof: parsed.proof }
  const note = `${text}\n${opened.lines}`
  const isOther = isOtherTree(claim) || isOtherText({ size, text, last })
  const evidence = evidenceOf(claim, { origin, note, last, isOther })
  if (parsed.oldSize !== last.size || isOther)
    return { status: 409, body: formatSize(last.size), contentType: SIZE_TYPE, ...(evidence && { evidence }) }
  if (verifyConsistency(claim)) return { status: 200, checkpoint, text, note }
  return { ...refused(422, 'the proof does not show that the log goes on'), ...(evidence && { evidence }) }
}

/** Each key once: a configured key may also be the successor of another one. */
function keysOf(chains: readonly (readonly NoteVerifier[])[]): readonly NoteVerifier[] {
  return [...new Map(chains.flat().map((verifier) => [verifier.text, verifier])).values()]
}

/** Whether, in some chain, all of these keys come before a key that signed the last checkpoint: they were succeeded. */
function isSucceeded(
  signers: readonly NoteVerifier[],
  { note }: Witnessed,
  chains: readonly (readonly NoteVerifier[])[],
): boolean {
  const opened = note === undefined ? undefined : openNote(note, keysOf(chains))
  if (opened?.ok !== true) return false
  const placeIn = (chain: readonly NoteVerifier[], keys: readonly NoteVerifier[]): number =>
    Math.max(...keys.map((key) => chain.findIndex(({ text }) => text === key.text)))
  return chains.some((chain) => {
    const place = placeIn(chain, signers)
    return place >= 0 && place < placeIn(chain, opened.signers)
  })
}

interface Signed {
  readonly origin: string
  readonly note: string
  readonly last: Witnessed
  readonly isOther: boolean
}

function isOtherTree({ from, fromRoot, to, toRoot }: ConsistencyClaim): boolean {
  return from === to && !sameHash(fromRoot, toRoot)
}

/**
 * A log signs exactly one text for each size: another line next to size and root makes it a different text. If an older release cosigned without keeping the
 * note, only the root is known.
 */
function isOtherText({ size, text, last }: Pick<Signed, 'last'> & { readonly size: number; readonly text: string }) {
  return size === last.size && last.note !== undefined && parseNote(last.note)?.text !== text
}

/** Evidence only if two signed notes contradict each other without further knowledge; otherwise undefined. */
function evidenceOf(claim: ConsistencyClaim, { origin, note, last, isOther }: Signed): Evidence | undefined {
  if (last.note === undefined) return undefined
  if (isOther) return { origin, kind: 'same-size', notes: [last.note, note], proof: [] }
  return showsFork(claim) ? { origin, kind: 'fork', notes: [last.note, note], proof: claim.proof } : undefined
}

function refused<S extends 400 | 403 | 404 | 422>(status: S, message: string): { status: S; body: string } {
  return { status, body: `${message}\n` }
}
