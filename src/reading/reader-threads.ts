/** @module Threads that read: exports, bundles and replays are made in them, so that the thread that writes passes on bytes and nothing else. */
import type { BundleMaker } from '../export/bundle/bundle-portions.ts'
import type { BundleHost, BundleRequest } from '../export/bundle/plan-bundle.ts'
import type { BodyMaker, BodyPortion, BodyRequest, ExportBody, Portions } from '../export/export-body.ts'
import type { SealFault } from '../ledger/identity/sealer.ts'
import type { Log } from '../ledger/ports.ts'
import type { HostAnswer, HostQuestion, ReaderJob, ReaderPortion } from './protocol.ts'
import { failureOf } from './read-failure.ts'
import { type AnswerHost, type ReaderLine, ReaderThread } from './reader-thread.ts'
import type { ReplayPortion, ReplayRequest } from './replay-portions.ts'

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

export class ReaderThreads implements BodyMaker, BundleMaker, AsyncDisposable {
  readonly #threads: readonly ReaderThread[]
  #lastId = 0
  #deaths = 0

  constructor({ count, file, workerData, log, onFault }: ReaderThreadsOptions) {
    const onDeath = (why: string): void => {
      this.#deaths += 1
      log.warn(
        { why },
        'a thread that reads has ended: what it was making was cut, and the next reader starts it again',
      )
    }
    this.#threads = Array.from({ length: count }, () => new ReaderThread({ file, workerData, onFault, onDeath }))
  }

  body(request: BodyRequest): ExportBody {
    const { open, portions } = this.#begun<BodyPortion>({ kind: 'export', request })
    return {
      ...portions,
      trailer: async (trailer) => {
        const { line, id } = open()
        const answer = await line.ask({ kind: 'trailer', id, trailer })
        if (answer.kind !== 'trailer') throw new TypeError(`a reader answered ${answer.kind}`)
        return answer.chunk
      },
    }
  }

  bundle(request: BundleRequest, host: BundleHost): Portions<BodyPortion> {
    return this.#begun<BodyPortion>({ kind: 'bundle', request }, (question) => answered(host, question)).portions
  }

  replay(request: ReplayRequest): Portions<ReplayPortion> {
    return this.#begun<ReplayPortion>({ kind: 'replay', request }).portions
  }

  /** A job is opened when its first portion is requested: what nobody begins to read leaves nothing open. */
  #begun<T extends ReaderPortion>(
    job: ReaderJob,
    host?: AnswerHost,
  ): { readonly open: () => { readonly line: ReaderLine; readonly id: number }; readonly portions: Portions<T> } {
    const id = ++this.#lastId
    let line: ReaderLine | undefined
    const open = () => {
      line ??= this.#leastBusy().open(id, job, host)
      return { line, id }
    }
    const portions: Portions<T> = {
      next: async () => {
        const answer = await open().line.ask({ kind: 'next', id })
        if (answer.kind !== 'portion') throw new TypeError(`a reader answered ${answer.kind}`)
        // A job is answered with portions of its own kind.
        return answer.portion as T | undefined
      },
      leave: () => line?.leave(),
      close: async () => {
        // Where its thread is gone, so is what it held.
        await line?.ask({ kind: 'close', id }).catch(() => undefined)
        line?.closed()
      },
    }
    return { open, portions }
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

async function answered(host: BundleHost, question: HostQuestion): Promise<HostAnswer> {
  try {
    if (question.what === 'proof-files') return { what: 'proof-files', files: await host.proofFiles(question.ids) }
    return { what: 'signed', envelope: await host.sign(question.payloadType, question.payload) }
  } catch (error) {
    return { what: 'failed', failure: failureOf(error) }
  }
}
