/** @module Reading a signed checkpoint of one of our logs: by our key, under its name, of the size and root that are claimed. */
import { type Checkpoint, parseCheckpoint } from '../../merkle/checkpoint.ts'
import type { NoteVerifier } from '../../merkle/note-key.ts'
import { openNote } from '../../merkle/signed-note.ts'

/** The checkpoint of a note that the log's own key signed; undefined for anything else. */
export function readCheckpoint(note: string, verifier: NoteVerifier): Checkpoint | undefined {
  const opened = openNote(note, [verifier])
  const checkpoint = opened.ok ? parseCheckpoint(opened.text) : undefined
  return checkpoint?.origin === verifier.name ? checkpoint : undefined
}
