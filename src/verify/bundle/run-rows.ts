/** @module Rows of an answer that are runs. */
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import { REJECTED, ROLLBACKS, ROLLED_BACK } from './event-facts.ts'
import type { Row } from './event-rows.ts'
import type { LoggedEvent } from './gathered.ts'
import { sha256 } from './hashes.ts'
import { hasPart, runOf } from './query.ts'
import { Stop } from './verdict.ts'

export const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

export interface RunRowsKind {
  /** Only runs without an end. */
  readonly isOpen?: boolean
}

interface Run {
  readonly started: string
  last: string
  events: number
  rejections: number
  lastRevision: number
  end?: string | undefined
  compensation?: string | undefined
}

/** Rows that are runs: headers say all of it, but for how a rollback ended. */
export class RunRows {
  #question: AnswerQuestion
  #kind: RunRowsKind
  #runs = new Map<string, Run>()

  constructor(question: AnswerQuestion, kind: RunRowsKind) {
    this.#question = question
    this.#kind = kind
  }

  gather({ header: { stream, type, time, revision }, data }: LoggedEvent): void {
    const name = runOf(stream)
    const { run, runContains, since, until } = this.#question.filter
    if (name === undefined || (run !== undefined && name !== run) || !hasPart(name, runContains)) return
    const isWithin = (since === undefined || time >= since) && (until === undefined || time < until)
    if (revision === 0 && isWithin) this.#runs.set(name, { started: time, last: time, events: 0, rejections: 0 } as Run)
    const found = this.#runs.get(name)
    if (found === undefined) return
    if (this.#runs.size > RUNS_MAX) throw new Stop('UNVERIFIABLE', 'too-large', TOO_MANY_RUNS)
    if (time > found.last) found.last = time
    found.events += 1
    found.lastRevision = revision
    if (type === REJECTED) found.rejections += 1
    if (!Object.hasOwn(ENDS, type)) return
    found.end = ENDS[type]
    found.compensation = type === ROLLED_BACK ? ROLLBACKS.find((each) => each === data?.status) : undefined
  }

  nextPass(): boolean {
    return false
  }

  rows(): Row[] {
    return []
  }

  *rest(): Generator<Row, void> {
    const { seed } = this.#question
    const names = [...this.#runs.keys()].filter(
      (run) => !this.#kind.isOpen || (this.#runs.get(run) as Run).end === undefined,
    )
    const sorted =
      seed === undefined
        ? names.sort(byBytes).map((run) => [run] as [run: string, rank?: string])
        : names
            .map((run) => [run, sampleRank(seed, run)] as [run: string, rank: string])
            .sort(([, a], [, b]) => (a < b ? -1 : 1))
    for (const [run, rank] of sorted) {
      const { started, last, events, lastRevision, end = 'open', compensation, rejections } = this.#runs.get(run) as Run
      const count = { events, firstRevision: 0, lastRevision, missingCount: lastRevision + 1 - events, missing: [] }
      yield { run, started, last, ...count, status: end, compensation, rejections, ...(rank && { rank, seed }) }
    }
  }
}

const ENDS: Record<string, string> = { RunCompleted: 'completed', RunFailed: 'failed', RunCompensated: 'compensated' }
export const RUNS_MAX = 200_000
export const TOO_MANY_RUNS = `a bundle answers for at most ${RUNS_MAX} runs: narrow the question with since and until`
const sampleRank = (seed: string, run: string): string =>
  sha256(`countersign/sample/v1\n${seed}\n${run}`).toString('hex')
