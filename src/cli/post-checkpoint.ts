/** @module Submits one checkpoint to one witness, for `countersign checkpoint --witness`. */

import { httpWitness } from '../integrations/witness-client.ts'
import { askWitness, type Question } from '../ledger/log/ask-witness.ts'
import type { NoteVerifier } from '../merkle/note-key.ts'
import { CliFailure, EXIT } from './failure.ts'

export interface Posting extends Omit<Question, 'knownSize'> {
  /** Submission prefix of the witness. */
  readonly url: string
  readonly verifier: NoteVerifier
}

/** The user typed the address, so any target is allowed, including non-public ones. */
const anywhere = (url: string): readonly string[] => [new URL(url).host, '0.0.0.0/0', '::/0']

/** The note with the cosignature of the witness. Throws `CliFailure`: network, or unproven if the witness refuses. */
export async function cosignedBy({ url, verifier, ...question }: Posting): Promise<string> {
  const answer = await askWitness(httpWitness(url, verifier, { allow: anywhere(url) }), { ...question, knownSize: 0 })
  if (answer.ok) return question.note + answer.lines
  throw new CliFailure(answer.message, answer.code === 'unreachable' ? EXIT.network : EXIT.unproven)
}
