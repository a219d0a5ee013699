/**
 * @module A ledger that submits accepted handoffs to a judge if the policy of the run names one: after the answer, a few at a time. A judgement lost to a crash
 * or a full queue is requested again when the next handoff is refused for lack of it.
 */
import type { Finding } from '../../schemas/finding.ts'
import type { HandoffJudge } from '../integrations/judge-client.ts'
import type { BatchItem, Caller, Command, Ledger, Outcome } from '../ledger/ledger.ts'
import type { Log } from '../ledger/ports.ts'

const AT_ONCE = 4
const WAITING_MAX = 1_000
const REMEMBERED_MAX = 10_000

interface Job {
  readonly tenant: string
  readonly runId: string
  readonly step: number
}

export interface JudgedBy {
  readonly judge: HandoffJudge
  /** Name of the judge, as recorded. */
  readonly name: string
  readonly log: Pick<Log, 'warn'>
}

/** Disposing of it aborts pending judgements and also disposes of the wrapped ledger. */
export function judgedLedger(ledger: Ledger, by: JudgedBy): Ledger {
  const judging = new Judging(ledger, by)
  return {
    ...ledger,
    execute: async (caller, runId, command, info) => {
      const outcome = await ledger.execute(caller, runId, command, info)
      judging.note(caller, { runId, command }, outcome)
      return outcome
    },
    executeBatch: async (caller, items, info) => {
      const outcomes = await ledger.executeBatch(caller, items, info)
      for (const [index, item] of items.entries()) judging.note(caller, item, outcomes[index])
      return outcomes
    },
    [Symbol.asyncDispose]: async () => {
      await judging.end()
      await ledger[Symbol.asyncDispose]()
    },
  }
}

class Judging {
  readonly #ledger: Ledger
  readonly #by: JudgedBy
  readonly #waiting: Job[] = []
  /** Handoffs that are queued, running or judged: a refusal that names one of them does not queue it again. */
  readonly #known = new Set<string>()
  readonly #ended = new AbortController()
  readonly #running = new Set<Promise<void>>()

  constructor(ledger: Ledger, by: JudgedBy) {
    this.#ledger = ledger
    this.#by = by
  }

  note({ tenant }: Caller, { runId, command }: BatchItem, outcome: Outcome | undefined): void {
    const step = outcome === undefined ? undefined : stepToJudge(command, outcome)
    if (step === undefined || this.#ended.signal.aborted) return
    const job = { tenant, runId, step }
    const name = JSON.stringify(job)
    if (this.#known.has(name)) return
    if (this.#waiting.length >= WAITING_MAX) {
      this.#by.log.warn(job, 'too many handoffs wait for the judge: this one is judged when the next one asks for it')
      return
    }
    if (this.#known.size >= REMEMBERED_MAX) this.#known.clear()
    this.#known.add(name)
    this.#waiting.push(job)
    this.#next()
  }

  async end(): Promise<void> {
    this.#waiting.length = 0
    this.#ended.abort(new Error('the ledger is closing'))
    await Promise.all(this.#running)
  }

  #next(): void {
    if (this.#running.size >= AT_ONCE) return
    const job = this.#waiting.shift()
    if (job === undefined) return
    const work = this.#judge(job).catch((error: unknown) => {
      this.#known.delete(JSON.stringify(job))
      this.#by.log.warn({ ...job, err: error }, 'a judgement could not be recorded')
    })
    const done = work.then(() => {
      this.#running.delete(done)
      this.#next()
    })
    this.#running.add(done)
  }

  async #judge(job: Job): Promise<void> {
    const { tenant, runId, step } = job
    const caller = { tenant, actor: this.#by.name }
    const run = await this.#ledger.run(caller, runId)
    if (!run.ok || run.value.status !== 'open') return
    if (run.value.policy.judge === undefined) return
    const after = await this.#ledger.context(caller, runId, { step })
    if (!after.ok) return
    const { revision, agent, context } = after.value
    const before = await this.#ledger.context(caller, runId, { revision: revision - 1 })
    if (!before.ok) return
    const place = { ledgerId: this.#ledger.ledgerId, tenant, run: runId, step, agent }
    const handoff = { ...place, before: before.value.context, after: context }
    const judgement = await this.#by.judge(handoff, this.#ended.signal)
    if (this.#ended.signal.aborted) return
    if (judgement.verdict === 'unavailable') this.#known.delete(JSON.stringify(job))
    const body = { step, judge: this.#by.name, ...judgement }
    // The ledger refuses this if the step is no longer on the current path or the run has ended: then there is nothing to judge.
    await this.#ledger.execute(caller, runId, { kind: 'judgement', body }, {})
  }
}

/** The step that an accepted handoff established, or the step for which a refused handoff found no judgement. */
function stepToJudge({ kind }: Command, outcome: Outcome): number | undefined {
  if (kind !== 'envelope' && kind !== 'join' && kind !== 'fork') return undefined
  // A fork establishes no step: the step it starts from has been judged.
  if (outcome.ok) return kind === 'fork' ? undefined : numberOf(outcome.body.step)
  const { findings, restored } = (outcome.refusal.evidence ?? {}) as {
    findings?: readonly Finding[]
    restored?: { step?: unknown }
  }
  return findings?.some(({ rule }) => rule === 'judged') === true ? numberOf(restored?.step) : undefined
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 ? value : undefined
}
