/** @module Requests a cosignature from a witness; one that is behind answers with its size, and is sent a proof from there (C2SP tlog-witness). */
import { formatAddCheckpoint, parseSize } from '../../merkle/add-checkpoint.ts'
import { SUCCESSIONS_MAX } from '../../merkle/followed-keys.ts'
import type { NoteVerifier } from '../../merkle/note-key.ts'
import { openNote, parseSignatureLines } from '../../merkle/signed-note.ts'

const STALE = 409
const UNKNOWN_KEY = 403

/** A witness, and the functions that send requests to it. */
export interface Witness {
  /** Submission prefix of the witness. */
  readonly url: string
  readonly verifier: NoteVerifier
  /** Sends the body of an add-checkpoint request. Rejects if the witness does not answer. */
  readonly add: (body: string) => Promise<Answer>
  /** Sends signed notes of key successions as a JSON list; only this project's own witnesses support it. Rejects as `add` does. */
  readonly follow?: (body: string) => Promise<Answer>
}

export interface Question {
  /** The signed note to cosign. */
  readonly note: string
  /** Size of the log that the witness is believed to know. */
  readonly knownSize: number
  /** Signed notes that lead from each key of the log to its successor, oldest first. */
  readonly successions?: readonly string[]
  /** Consistency proof from an earlier size; undefined if there is none. */
  readonly proofFrom: (size: number) => readonly Uint8Array[] | undefined | Promise<readonly Uint8Array[] | undefined>
}

export type Cosigning =
  /** Signature lines to append to the note. */
  | { readonly ok: true; readonly lines: string }
  | { readonly ok: false; readonly code: 'unreachable' | 'refused' | 'no-proof' | 'not-a-cosignature'; message: string }

/** Sends one request, and a second one with the proof from the size that the witness names. Never throws because of an answer of the witness. */
export async function askWitness(witness: Witness, question: Question): Promise<Cosigning> {
  try {
    const first = await addFollowed(witness, question)
    if (first?.status !== STALE) return judge(witness, question, first)
    const size = parseSize(first.body)
    return judge(witness, question, size === undefined ? undefined : await add(witness, question, size), first.body)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return failed('unreachable', `the witness at ${witness.url} does not answer: ${reason}`)
  }
}

type Answer = { readonly status: number; readonly body: string }

/** If the witness does not know the key yet, sends it the successions that led to the key and repeats the request once. */
async function addFollowed(witness: Witness, question: Question): Promise<Answer | undefined> {
  const { knownSize, successions = [] } = question
  const first = await add(witness, question, knownSize)
  if (first?.status !== UNKNOWN_KEY || successions.length === 0 || witness.follow === undefined) return first
  const followed = await witness.follow(JSON.stringify(successions.slice(-SUCCESSIONS_MAX)))
  return followed.status === 200 ? add(witness, question, knownSize) : first
}

async function add(witness: Witness, { note, proofFrom }: Question, oldSize: number): Promise<Answer | undefined> {
  const proof = oldSize === 0 ? [] : await proofFrom(oldSize)
  return proof && (await witness.add(formatAddCheckpoint({ oldSize, proof, checkpoint: note })))
}

function judge(witness: Witness, { note }: Question, answer: Answer | undefined, known = ''): Cosigning {
  if (answer === undefined) {
    const counts = `the witness knows ${known.trim().slice(0, 20) || 'another number of'} events of this log`
    return failed('no-proof', `${counts}: no proof leads from there to this checkpoint`)
  }
  if (answer.status !== 200) {
    const code = answer.status >= 500 ? 'unreachable' : 'refused'
    return failed(code, `the witness refuses this checkpoint (${answer.status}): ${answer.body.trim().slice(0, 200)}`)
  }
  // A wrong cosignature must not invalidate the note that it is appended to, and foreign signature lines must not make the note too long for readers.
  const opened = parseSignatureLines(answer.body) && openNote(note + answer.body, [witness.verifier])
  return opened?.ok
    ? { ok: true, lines: opened.lines }
    : failed('not-a-cosignature', 'the answer of the witness is no cosignature under its key')
}

function failed(code: Extract<Cosigning, { ok: false }>['code'], message: string): Cosigning {
  return { ok: false, code, message }
}
