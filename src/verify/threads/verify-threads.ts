/** @module The threads that look at rows ahead of the one that judges them. One that ends before its time ends the verification: nothing is left out. */
import type { Worker } from 'node:worker_threads'
import { endWorker, startWorker } from '../../resources/worker-life.ts'
import type { FromLooker, LookedRows, RowRange, ToLooker, VerifyWorkerData } from './protocol.ts'

/** For a thread to end by itself. */
const END_MAX_MS = 5_000

type Answer = Exclude<FromLooker, { readonly kind: 'open-failed' }>['answer']

interface Waiting {
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: Error) => void
}

export interface VerifyThreadsOptions {
  /** Their program. */
  readonly file: URL
  readonly count: number
  readonly workerData: VerifyWorkerData
}

export class VerifyThreads implements AsyncDisposable {
  readonly #workers: readonly Worker[]
  #lookers: readonly Worker[]
  readonly #alive = new Set<Worker>()
  readonly #waiting = new Map<number, Waiting>()
  #next = 0
  #failed: Error | undefined
  #isEnding = false

  constructor({ file, count, workerData }: VerifyThreadsOptions) {
    this.#workers = Array.from({ length: count }, (_, at) => {
      const worker = startWorker<FromLooker>({
        file,
        workerData,
        name: `countersign-verify-${at + 1}`,
        receive: ({ id, answer }) => {
          this.#waiting.get(id)?.resolve(answer)
          this.#waiting.delete(id)
        },
        ended: (why) => {
          this.#alive.delete(worker)
          this.#fail(why)
        },
      })
      // The verification waits for nothing else.
      worker.ref()
      this.#alive.add(worker)
      return worker
    })
    this.#lookers = this.#workers
  }

  /** Threads that look at rows now: all but the one that looks at tables and indexes. */
  get count(): number {
    return this.#lookers.length
  }

  /** Threads take ranges in turn. Rejects where one of them has ended. */
  look({ after, to }: RowRange): Promise<LookedRows | undefined> {
    const id = this.#next
    const lookers = this.count === 0 ? this.#workers : this.#lookers
    return this.#ask(lookers[id % lookers.length], { kind: 'look', id, after, to }) as Promise<LookedRows | undefined>
  }

  /** What SQLite finds wrong with tables and indexes. One thread does nothing else meanwhile. Rejects where one has ended. */
  checkTables(): Promise<readonly string[]> {
    const [worker, ...others] = this.#lookers
    this.#lookers = others
    const found = this.#ask(worker, { kind: 'check-tables', id: this.#next }) as Promise<readonly string[]>
    const back = (): void => {
      this.#lookers = this.#workers
    }
    found.then(back, back)
    return found
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true
    const leaving = [...this.#alive]
    await Promise.all(leaving.map((worker) => endWorker(worker, () => this.#say(worker, { kind: 'end' }), END_MAX_MS)))
  }

  #ask(worker: Worker | undefined, message: Exclude<ToLooker, { readonly kind: 'end' }>): Promise<Answer> {
    this.#next += 1
    const answer = new Promise<Answer>((resolve, reject) => this.#waiting.set(message.id, { resolve, reject }))
    // Whoever waits for it hears of its failure; until then nobody may.
    answer.catch(() => undefined)
    if (this.#failed !== undefined) this.#fail(this.#failed.message)
    else this.#say(worker, message)
    return answer
  }

  #say(worker: Worker | undefined, message: ToLooker): void {
    worker?.postMessage(message)
  }

  #fail(why: string): void {
    if (this.#isEnding) return
    this.#failed ??= new Error(`a thread that checks events ended before its time: ${why}`)
    for (const { reject } of this.#waiting.values()) reject(this.#failed)
    this.#waiting.clear()
  }
}
