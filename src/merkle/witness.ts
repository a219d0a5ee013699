/** @module What a witness decides: whether a checkpoint continues the one it cosigned before (C2SP tlog-witness). Pure: who calls keeps the state. */
import { formatSize, parseAddCheckpoint, SIZE_TYPE } from './add-checkpoint.ts'
import { type Checkpoint, parseCheckpoint } from './checkpoint.ts'
import { type ConsistencyClaim, showsFork, verifyConsistency } from './consistency.ts'
import type { KeyChains } from './followed-keys.ts'
import { emptyRoot, sameHash } from './hashes.ts'
import type { NoteVerifier } from './note-key.ts'
import { openNote, parseNote } from './signed-note.ts'

/** What a witness knows of a log: the last checkpoint that it cosigned. */
export interface Witnessed {
  readonly size: number
  readonly root: Uint8Array
  /** That checkpoint under the log's own signatures; absent where it was cosigned by a release that did not keep it. */
  readonly note?: string
}

/** Two checkpoints that one log signed and that cannot both be true. The files of a log hold all that it takes to check them. */
export interface Evidence {
  readonly origin: string
  /** Two texts of one size; or, by the proof, two trees of which the larger does not begin with the smaller. */
  readonly kind: 'same-size' | 'fork' | 'two-successors'
  /** Signed notes, the smaller first, without the signature lines of others; of `two-successors` the successions of one key. */
  readonly notes: readonly [string, string]
  /** Of a fork: the nodes that make the larger root, and another root than the signed one for the smaller size (RFC 6962). */
  readonly proof: readonly Uint8Array[]
}

export interface WitnessKnowledge {
  /** Keys that each log signs with, by its name. */
  readonly logs: KeyChains
  /** By origin; absent where nothing was cosigned yet. */
  readonly witnessed: ReadonlyMap<string, Witnessed>
}

export type WitnessVerdict =
  /** Keep the checkpoint durably, then answer with a cosignature of `text`. */
  | { readonly status: 200; readonly checkpoint: Checkpoint; readonly text: string; readonly note: string }
  | {
      readonly status: 400 | 403 | 404 | 409 | 422
      readonly body: string
      readonly contentType?: typeof SIZE_TYPE
      /** Only what the log's own signatures prove: whoever posts a genuine checkpoint with a wrong proof accuses nobody. */
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

/** Each once: a key that was given may also follow another one. */
function keysOf(chains: readonly (readonly NoteVerifier[])[]): readonly NoteVerifier[] {
  return [...new Map(chains.flat().map((verifier) => [verifier.text, verifier])).values()]
}

/** Whether none of these keys is the one that signed the last checkpoint, or follows it, and one that signed it follows them. */
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
 * A log signs one text of each size: a line beside size and root makes it another one as well. Where a release cosigned that kept no note,
 * its root alone is known.
 */
function isOtherText({ size, text, last }: Pick<Signed, 'last'> & { readonly size: number; readonly text: string }) {
  return size === last.size && last.note !== undefined && parseNote(last.note)?.text !== text
}

/** Undefined for all but two signed notes that contradict each other by themselves. */
function evidenceOf(claim: ConsistencyClaim, { origin, note, last, isOther }: Signed): Evidence | undefined {
  if (last.note === undefined) return undefined
  if (isOther) return { origin, kind: 'same-size', notes: [last.note, note], proof: [] }
  return showsFork(claim) ? { origin, kind: 'fork', notes: [last.note, note], proof: claim.proof } : undefined
}

function refused<S extends 400 | 403 | 404 | 422>(status: S, message: string): { status: S; body: string } {
  return { status, body: `${message}\n` }
}
