/** @module The threads that look at rows ahead of the one that judges them. One that ends before its time ends the verification: nothing is left out. */
import type { Worker } from 'node:worker_threads'
import { endWorker, startWorker } from '../../resources/worker-life.ts'
import type { FromLooker, LookedRows, RowRange, ToLooker, VerifyWorkerData } from './protocol.ts'

/** For a thread to end by itself. */
const END_MAX_MS = 5_000

interface Waiting {
  readonly resolve: (rows: LookedRows | undefined) => void
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
        receive: ({ id, rows }) => {
          this.#waiting.get(id)?.resolve(rows)
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
  }

  get count(): number {
    return this.#workers.length
  }

  /** Threads take ranges in turn. Rejects where one of them has ended. */
  look({ after, to }: RowRange): Promise<LookedRows | undefined> {
    const id = this.#next
    this.#next += 1
    const answer = new Promise<LookedRows | undefined>((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
    // Whoever waits for it hears of its failure; until then nobody may.
    answer.catch(() => undefined)
    if (this.#failed !== undefined) this.#fail(this.#failed.message)
    else this.#say(this.#workers[id % this.#workers.length], { kind: 'look', id, after, to })
    return answer
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true
    const leaving = [...this.#alive]
    await Promise.all(leaving.map((worker) => endWorker(worker, () => this.#say(worker, { kind: 'end' }), END_MAX_MS)))
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
