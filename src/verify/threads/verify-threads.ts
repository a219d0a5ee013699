/** @module The threads that check rows ahead of the judging thread. If one of them ends early, the verification fails: nothing is left out. */
import type { NoCalls } from '../../workers/peer.ts'
import { WorkerThread } from '../../workers/worker-thread.ts'
import type { LookedRows, LookerCalls, RowRange, VerifyWorkerData } from './protocol.ts'

/** Time for a thread to end on its own. */
const END_MAX_MS = 5_000

export interface VerifyThreadsOptions {
  /** Program of the threads. */
  readonly file: URL
  readonly count: number
  readonly workerData: VerifyWorkerData
}

type Looker = WorkerThread<LookerCalls, NoCalls>

export class VerifyThreads implements AsyncDisposable {
  readonly #workers: readonly Looker[]
  #lookers: readonly Looker[]
  #looked = 0
  #failed: Error | undefined

  constructor({ file, count, workerData }: VerifyThreadsOptions) {
    this.#workers = Array.from(
      { length: count },
      (_, at) =>
        new WorkerThread({
          ...{ program: file, workerData, name: `countersign-verify-${at + 1}`, heap: {}, handlers: {} },
          lost: (why) => this.#fail(why),
          onDeath: () => void this.#end('another one ended', 0),
        }),
    )
    this.#lookers = this.#workers
  }

  /** Number of threads that currently check rows: all but the one that checks tables and indexes. */
  get count(): number {
    return this.#lookers.length
  }

  /** Threads take ranges in turn. Rejects if one of them has ended. */
  look(range: RowRange): Promise<LookedRows | undefined> {
    const lookers = this.count === 0 ? this.#workers : this.#lookers
    const at = this.#looked % lookers.length
    this.#looked += 1
    return heard(this.#at(lookers, at).ask('look', [range]))
  }

  /** Faults that SQLite finds in tables and indexes. One thread does only this in the meantime. Rejects if a thread has ended. */
  checkTables(): Promise<readonly string[]> {
    const worker = this.#at(this.#lookers, 0)
    this.#lookers = this.#lookers.filter((each) => each !== worker)
    const found = worker.ask('checkTables', [])
    const back = (): void => {
      this.#lookers = this.#workers
    }
    found.then(back, back)
    return heard(found)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end('the verification is over', END_MAX_MS)
  }

  #at(lookers: readonly Looker[], at: number): Looker {
    const looker = lookers[at]
    if (looker === undefined) throw new RangeError('no thread looks at rows')
    return looker
  }

  async #end(why: string, maxMs: number): Promise<void> {
    await Promise.all(this.#workers.map((each) => each.end(why, maxMs)))
  }

  #fail({ message }: Error): Error {
    this.#failed ??= new Error(`a thread that checks events ended before its time: ${message}`)
    return this.#failed
  }
}

/** Prevents an unhandled rejection before a caller awaits the answer; a caller that awaits it still gets the error. */
function heard<T>(answer: Promise<T>): Promise<T> {
  answer.catch(() => undefined)
  return answer
}
