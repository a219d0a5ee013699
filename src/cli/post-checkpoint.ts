/** @module Asking a witness for its cosignature: where it is behind, it says so, and gets the proof from there (C2SP tlog-witness). */
import { formatAddCheckpoint, parseSize } from '../merkle/add-checkpoint.ts'
import type { NoteVerifier } from '../merkle/note-key.ts'
import { openNote, parseSignatureLines } from '../merkle/signed-note.ts'
import { CliFailure, EXIT } from './failure.ts'

const ANSWER_MAX_MS = 10_000
const ANSWER_MAX_CHARS = 64 * 1024

export interface Posting {
  /** Submission prefix of the witness. */
  readonly url: string
  readonly verifier: NoteVerifier
  /** The signed note. */
  readonly note: string
  /** The proof from an earlier size; undefined where there is none. */
  readonly proofFrom: (size: number) => Promise<readonly Uint8Array[] | undefined>
}

/** The note with the cosignature of the witness. Throws `CliFailure`: network, or unproven where the witness refuses. */
export async function cosignedBy(posting: Posting): Promise<string> {
  const first = await post(posting, 0, [])
  const answer = first.status === 409 ? await again(posting, first.body) : first
  if (answer.status !== 200) {
    throw new CliFailure(
      `the witness refuses this checkpoint (${answer.status}): ${answer.body.slice(0, 200)}`,
      EXIT.unproven,
    )
  }
  const cosigned = posting.note + answer.body
  // A wrong cosignature must not spoil the note that it is put under.
  const valid = parseSignatureLines(answer.body) !== undefined && openNote(cosigned, [posting.verifier]).ok
  if (!valid) throw new CliFailure('the answer of the witness is no cosignature under its key', EXIT.unproven)
  return cosigned
}

async function again(posting: Posting, body: string): Promise<{ status: number; body: string }> {
  const size = parseSize(body)
  const proof = size === undefined ? undefined : await posting.proofFrom(size)
  if (size === undefined || proof === undefined) {
    throw new CliFailure(
      `the witness knows ${body.trim().slice(0, 20)} events of this log: no proof leads from there to this checkpoint`,
      EXIT.unproven,
    )
  }
  return post(posting, size, proof)
}

async function post(
  { url, note }: Posting,
  oldSize: number,
  proof: readonly Uint8Array[],
): Promise<{ status: number; body: string }> {
  try {
    const response = await fetch(new URL('add-checkpoint', url.endsWith('/') ? url : `${url}/`), {
      method: 'POST',
      body: formatAddCheckpoint({ oldSize, proof, checkpoint: note }),
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWER_MAX_MS),
    })
    return { status: response.status, body: (await response.text()).slice(0, ANSWER_MAX_CHARS) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CliFailure(`the witness at ${url} does not answer: ${reason}`, EXIT.network)
  }
}
