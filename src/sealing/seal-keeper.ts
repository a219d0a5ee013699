/** @module The side of a thread that decides and seals: carries out what it is sent, side by side, and answers what is done in each turn with one message. */
import type { Caller } from '../ledger/ledger.ts'
import type { RunQueries } from '../ledger/read/queries.ts'
import type { RunWrites } from '../ledger/sealing.ts'
import type { WorkQueue } from '../resources/work-queue.ts'
import type { Answer, Done, FromSealer, Job, SentCaller } from './protocol.ts'

export interface KeeperParts {
  readonly write: RunWrites
  readonly queries: RunQueries
  readonly work: WorkQueue
  readonly say: (message: FromSealer) => void
}

export class SealKeeper {
  readonly #parts: KeeperParts
  #answers: Answer[] = []

  constructor(parts: KeeperParts) {
    this.#parts = parts
  }

  /** Never throws. */
  receive(jobs: readonly Job[]): void {
    for (const job of jobs) {
      this.#carryOut(job).then(
        (done) => this.#answer({ id: job.id, done }),
        (error: unknown) =>
          this.#answer({ id: job.id, failure: error instanceof Error ? error.message : String(error) }),
      )
    }
  }

  async #carryOut({ caller: sent, runId, task }: Job): Promise<Done> {
    const { write, queries } = this.#parts
    const caller = this.#callerOf(sent)
    switch (task.what) {
      case 'execute':
        return write.execute(caller, runId, task.command, task.info)
      case 'in-order':
        return write.executeInOrder(caller, runId, task.items)
      case 'query':
        return Reflect.apply(queries[task.name], queries, [caller, runId, ...task.args]) as Promise<Done>
    }
  }

  #callerOf({ isPaced, ...caller }: SentCaller): Caller {
    if (isPaced !== true) return caller
    return {
      ...caller,
      pace: this.#parts.work.begin({ tenant: caller.tenant, caller: caller.subject ?? caller.actor }),
    }
  }

  #answer(answer: Answer): void {
    if (this.#answers.push(answer) > 1) return
    setImmediate(() => {
      const answers = this.#answers
      this.#answers = []
      this.#parts.say({ kind: 'answers', answers })
    })
  }
}
