/** @module Reads a signed checkpoint of one of our logs, and verifies that one of our keys signed it under the name of the log. */
import { type Checkpoint, parseCheckpoint } from '../../merkle/checkpoint.ts'
import type { NoteVerifier } from '../../merkle/note-key.ts'
import { openNote } from '../../merkle/signed-note.ts'

export interface OwnCheckpoint extends Checkpoint {
  /** Index of its key among the keys of the log, oldest first. */
  readonly keyPlace: number
}

/** The checkpoint in a note that one of the log's own keys signed; undefined for anything else. */
export function readCheckpoint(note: string, verifiers: readonly NoteVerifier[]): OwnCheckpoint | undefined {
  const opened = openNote(note, verifiers)
  const [signer] = opened.ok ? opened.signers : []
  const checkpoint = opened.ok ? parseCheckpoint(opened.text) : undefined
  if (signer === undefined || checkpoint?.origin !== signer.name) return undefined
  return { ...checkpoint, keyPlace: verifiers.indexOf(signer) }
}
