/** @module Threads that read: bodies of exports are made in them, so that the thread that writes passes on bytes and nothing else. */
import type { BodyMaker, BodyRequest, ExportBody } from '../export/export-body.ts'
import type { SealFault } from '../ledger/identity/sealer.ts'
import type { Log } from '../ledger/ports.ts'
import { type ReaderLine, ReaderThread } from './reader-thread.ts'

export interface ReaderThreadsOptions {
  readonly count: number
  readonly file: URL
  readonly workerData: unknown
  readonly log: Log
  /** An event that one of them read does not verify. */
  readonly onFault: (fault: SealFault) => void
}

export interface ReaderStats {
  readonly threads: number
  /** Bodies that are open. */
  readonly bodies: number
  /** Of all of them, as last reported. */
  readonly heapBytes: number
  /** Ends that nobody requested. */
  readonly deaths: number
}

export class ReaderThreads implements BodyMaker, AsyncDisposable {
  readonly #threads: readonly ReaderThread[]
  #lastId = 0
  #deaths = 0

  constructor({ count, file, workerData, log, onFault }: ReaderThreadsOptions) {
    const onDeath = (why: string): void => {
      this.#deaths += 1
      log.warn(
        { why },
        'a thread that reads has ended: what it was making was cut, and the next export starts it again',
      )
    }
    this.#threads = Array.from({ length: count }, () => new ReaderThread({ file, workerData, onFault, onDeath }))
  }

  body(request: BodyRequest): ExportBody {
    const id = ++this.#lastId
    let line: ReaderLine | undefined
    // Not before somebody reads: a stream that nobody begins leaves nothing open.
    const open = (): ReaderLine => {
      line ??= this.#leastBusy().open(id, request)
      return line
    }
    return {
      next: async () => {
        const answer = await open().ask({ kind: 'next', id })
        if (answer.kind !== 'portion') throw new TypeError(`a reader answered ${answer.kind}`)
        return answer.portion
      },
      trailer: async (trailer) => {
        const answer = await open().ask({ kind: 'trailer', id, trailer })
        if (answer.kind !== 'trailer') throw new TypeError(`a reader answered ${answer.kind}`)
        return answer.chunk
      },
      close: async () => {
        // Where its thread is gone, so is what it held.
        await line?.ask({ kind: 'close', id }).catch(() => undefined)
        line?.closed()
      },
    }
  }

  stats(): ReaderStats {
    const sum = (of: (thread: ReaderThread) => number): number =>
      this.#threads.reduce((total, each) => total + of(each), 0)
    return {
      threads: this.#threads.length,
      bodies: sum(({ bodies }) => bodies),
      heapBytes: sum(({ heapBytes }) => heapBytes),
      deaths: this.#deaths,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#threads.map((each) => each.end()))
  }

  #leastBusy(): ReaderThread {
    return this.#threads.reduce((least, each) => (each.bodies < least.bodies ? each : least))
  }
}
