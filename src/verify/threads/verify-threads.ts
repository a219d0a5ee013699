/** @module The threads that look at rows ahead of the one that judges them. One that ends before its time ends the verification: nothing is left out. */
import type { NoCalls } from '../../workers/peer.ts'
import { WorkerThread } from '../../workers/worker-thread.ts'
import type { LookedRows, LookerCalls, RowRange, VerifyWorkerData } from './protocol.ts'

/** For a thread to end by itself. */
const END_MAX_MS = 5_000

export interface VerifyThreadsOptions {
  /** Their program. */
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

  /** Threads that look at rows now: all but the one that looks at tables and indexes. */
  get count(): number {
    return this.#lookers.length
  }

  /** Threads take ranges in turn. Rejects where one of them has ended. */
  look(range: RowRange): Promise<LookedRows | undefined> {
    const lookers = this.count === 0 ? this.#workers : this.#lookers
    const at = this.#looked % lookers.length
    this.#looked += 1
    return heard(this.#at(lookers, at).ask('look', [range]))
  }

  /** What SQLite finds wrong with tables and indexes. One thread does nothing else meanwhile. Rejects where one has ended. */
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

/** Whoever waits for it hears of its failure; until then nobody may. */
function heard<T>(answer: Promise<T>): Promise<T> {
  answer.catch(() => undefined)
  return answer
}
