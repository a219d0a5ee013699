/**
 * @module Caches the last answers of a run that depend on its state. A repeat is answered from here instead of folding the events of the run up to
 * the request. Losing an entry costs only time: the answer is made again from the stream.
 */
import { weigh } from '../../resources/memory-budget.ts'
import type { CommandResponse } from '../responses/response-parts.ts'

/** Limit per run. A repeat comes within moments, from concurrent callers. */
const MAX_BYTES = 16 * 1024

interface RecentAnswer {
  readonly answer: CommandResponse
  readonly bytes: number
}

export class RecentAnswers {
  /** By the revision of the first event of the request, oldest first. */
  readonly #answers = new Map<number, RecentAnswer>()
  /** Total size of the answers, in bytes. */
  bytes = 0

  /** Returns a copy: changes that the caller makes to the body do not affect later answers. */
  get(revision: number): CommandResponse | undefined {
    const answer = this.#answers.get(revision)?.answer
    return answer === undefined ? undefined : withOwnBody(answer)
  }

  add(revision: number, answer: CommandResponse): void {
    const bytes = weigh(answer)
    if (bytes > MAX_BYTES || this.#answers.has(revision)) return
    this.#answers.set(revision, { answer: withOwnBody(answer), bytes })
    this.bytes += bytes
    for (const [oldest, { bytes: freed }] of this.#answers) {
      if (this.bytes <= MAX_BYTES) break
      this.#answers.delete(oldest)
      this.bytes -= freed
    }
  }
}

function withOwnBody(answer: CommandResponse): CommandResponse {
  return answer.kind === 'body' ? { ...answer, body: { ...answer.body } } : answer
}
