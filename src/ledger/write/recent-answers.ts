/**
 * @module The last answers of a run that its state is part of. A repeat is answered from here and not from the run's events, which it would have to
 * fold up to the request. Losing them loses time alone: the answer is made again from the stream.
 */
import { weigh } from '../../resources/memory-budget.ts'
import type { CommandResponse } from '../responses/response-parts.ts'

/** Of one run. A repeat comes within moments, from callers that work side by side. */
const MAX_BYTES = 16 * 1024

interface RecentAnswer {
  readonly answer: CommandResponse
  readonly bytes: number
}

export class RecentAnswers {
  /** By the revision of the request's first event, the oldest first. */
  readonly #answers = new Map<number, RecentAnswer>()
  /** Of all of them. */
  bytes = 0

  /** The caller's own: what it does with the body changes none that comes after it. */
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
