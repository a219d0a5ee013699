/** @module What a witness decides: whether a checkpoint continues the one it cosigned before (C2SP tlog-witness). Pure: who calls keeps the state. */
import { formatSize, parseAddCheckpoint, SIZE_TYPE } from './add-checkpoint.ts'
import { type Checkpoint, parseCheckpoint } from './checkpoint.ts'
import { verifyConsistency } from './consistency.ts'
import { emptyRoot, sameHash } from './hashes.ts'
import type { NoteVerifier } from './note-key.ts'
import { openNote, parseNote } from './signed-note.ts'

/** What a witness knows of a log: the last checkpoint that it cosigned. */
export interface Witnessed {
  readonly size: number
  readonly root: Uint8Array
}

export interface WitnessKnowledge {
  /** Keys that each log signs with, by origin. */
  readonly logs: ReadonlyMap<string, readonly NoteVerifier[]>
  /** By origin; absent where nothing was cosigned yet. */
  readonly witnessed: ReadonlyMap<string, Witnessed>
}

export type WitnessVerdict =
  /** Keep the checkpoint durably, then answer with a cosignature of `text`. */
  | { readonly status: 200; readonly checkpoint: Checkpoint; readonly text: string }
  | {
      readonly status: 400 | 403 | 404 | 409 | 422
      readonly body: string
      readonly contentType?: typeof SIZE_TYPE
      /** The log signed two trees of one size, or one that does not continue another: its own signatures prove it. */
      readonly evidence?: { readonly origin: string; readonly note: string }
    }

export function judgeAddCheckpoint(request: string, known: WitnessKnowledge): WitnessVerdict {
  const parsed = parseAddCheckpoint(request)
  const text = parsed && parseNote(parsed.checkpoint)?.text
  const checkpoint = text === undefined ? undefined : parseCheckpoint(text)
  if (parsed === undefined || text === undefined || checkpoint === undefined)
    return refused(400, 'not an add-checkpoint request')

  const { origin, size } = checkpoint
  const verifiers = known.logs.get(origin)
  if (verifiers === undefined) return refused(404, 'this log is not witnessed here')
  if (!openNote(parsed.checkpoint, verifiers).ok) return refused(403, 'no key of this log signed the checkpoint')
  if (parsed.oldSize > size) return refused(400, 'the old size is larger than the checkpoint')

  const last = known.witnessed.get(origin) ?? { size: 0, root: emptyRoot() }
  if (parsed.oldSize !== last.size) return { status: 409, body: formatSize(last.size), contentType: SIZE_TYPE }
  const evidence = { origin, note: parsed.checkpoint }
  if (size === last.size && !sameHash(checkpoint.root, last.root)) {
    return { status: 409, body: formatSize(last.size), contentType: SIZE_TYPE, evidence }
  }
  const claim = { from: last.size, fromRoot: last.root, to: size, toRoot: checkpoint.root, proof: parsed.proof }
  if (!verifyConsistency(claim)) return { ...refused(422, 'the proof does not show that the log goes on'), evidence }
  return { status: 200, checkpoint, text }
}

function refused<S extends 400 | 403 | 404 | 422>(status: S, message: string): { status: S; body: string } {
  return { status, body: `${message}\n` }
}
