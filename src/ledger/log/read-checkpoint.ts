/** @module Reading a signed checkpoint of one of our logs: by a key of ours, under its name, of the size and root that are claimed. */
import { type Checkpoint, parseCheckpoint } from '../../merkle/checkpoint.ts'
import type { NoteVerifier } from '../../merkle/note-key.ts'
import { openNote } from '../../merkle/signed-note.ts'

export interface OwnCheckpoint extends Checkpoint {
  /** Place of its key among those of the log, oldest first. */
  readonly keyPlace: number
}

/** The checkpoint of a note that one of the log's own keys signed; undefined for anything else. */
export function readCheckpoint(note: string, verifiers: readonly NoteVerifier[]): OwnCheckpoint | undefined {
  const opened = openNote(note, verifiers)
  const [signer] = opened.ok ? opened.signers : []
  const checkpoint = opened.ok ? parseCheckpoint(opened.text) : undefined
  if (signer === undefined || checkpoint?.origin !== signer.name) return undefined
  return { ...checkpoint, keyPlace: verifiers.indexOf(signer) }
}
