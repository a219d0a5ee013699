/** @module A pool of reader threads that make exports, bundles, replays and answers, so that the main thread only passes on bytes. */

import { type JsonObject, parseJson } from '../../schemas/json.ts'
import type { AnswerBodyMaker, AnswerBodyRequest, AnswerPortion } from '../export/answer/answer-body.ts'
import type { BundleMaker } from '../export/bundle/bundle-portions.ts'
import type { BundleHost, BundleRequest } from '../export/bundle/plan-bundle.ts'
import type {
  BodyMaker,
  BodyPortion,
  BodyRequest,
  ExportBody,
  LinesPortion,
  LinesRequest,
  Portions,
} from '../export/export-body.ts'
import type { AuditPage, PlannedQuestion } from '../ledger/audit/audit-reads.ts'
import type { AnswerMaker } from '../ledger/audit/audit-service.ts'
import type { SealFault } from '../ledger/identity/sealer.ts'
import type { Caller } from '../ledger/ledger.ts'
import type { Log } from '../ledger/ports.ts'
import type { IndexOwner } from '../store/sqlite/audit-snapshots.ts'
import type { PagePortion, ReaderJob, ReaderPortion } from './protocol.ts'
import { type BodyHost, type ReaderBody, ReaderThread } from './reader-thread.ts'
import type { ReplayPortion, ReplayRequest } from './replay-portions.ts'

export interface ReaderThreadsOptions {
  readonly count: number
  readonly file: URL
  readonly workerData: unknown
  /** Limit of each thread: see `HeapLimits`. */
  readonly youngBytes?: number
  readonly log: Log
  /** Called when an event that a reader read does not verify. */
  readonly onFault: (fault: SealFault) => void
  /** The writer of the audit index. */
  readonly index: IndexOwner
}

/** Interval, in milliseconds, at which the caller of a question is checked: a disconnect causes no event here. */
const LOOK_MS = 250

export interface ReaderStats {
  readonly threads: number
  /** Number of open bodies. */
  readonly bodies: number
  /** Heap of all threads, in bytes, as last reported. */
  readonly heapBytes: number
  /** Number of unexpected ends of threads. */
  readonly deaths: number
}

export class ReaderThreads implements BodyMaker, BundleMaker, AnswerMaker, AnswerBodyMaker, AsyncDisposable {
  readonly count: number
  readonly #threads: readonly ReaderThread[]
  readonly #index: IndexOwner
  #lastId = 0
  #deaths = 0

  constructor({ count, file, workerData, youngBytes, log, onFault, index }: ReaderThreadsOptions) {
    this.count = count
    this.#index = index
    const onDeath = (why: string): void => {
      this.#deaths += 1
      log.warn(
        { why },
        'a thread that reads has ended: what it was making was cut, and the next reader starts it again',
      )
    }
    const options = { file, workerData, youngBytes, onFault, onDeath }
    this.#threads = Array.from({ length: count }, () => new ReaderThread(options))
  }

  body(request: BodyRequest): ExportBody {
    const { open, portions } = this.#begun<BodyPortion>({ kind: 'export', request })
    return { ...portions, trailer: (trailer) => open().trailer(trailer) }
  }

  /** A stretch of an export; `isFirst` if the file begins with it. */
  lines(request: LinesRequest, isFirst: boolean): Portions<LinesPortion> {
    return this.#begun<LinesPortion>({ kind: 'lines', request, isFirst }).portions
  }

  /** Starts the threads that are not running. Rejects with `StoreUnavailableError` if one of them cannot start. */
  async ready(): Promise<void> {
    await Promise.all(this.#threads.map((each) => each.ready()))
  }

  bundle(request: BundleRequest, host: Pick<BundleHost, 'sign'>): Portions<BodyPortion> {
    return this.#begun<BodyPortion>({ kind: 'bundle', request }, host).portions
  }

  replay(request: ReplayRequest): Portions<ReplayPortion> {
    return this.#begun<ReplayPortion>({ kind: 'replay', request }).portions
  }

  answerBody(request: AnswerBodyRequest): Portions<AnswerPortion> {
    return this.#begun<AnswerPortion>({ kind: 'answer', request }).portions
  }

  async answer(planned: PlannedQuestion, { actor, pace }: Caller): Promise<AuditPage> {
    const { tenant } = planned
    const { portions } = this.#begun<PagePortion>({ kind: 'question', request: { tenant, caller: actor, planned } })
    const look = setInterval(() => {
      if (pace?.isOver === true) portions.leave()
    }, LOOK_MS)
    try {
      const portion = await portions.next()
      if (portion === undefined) throw new TypeError('a reader answered a question with nothing')
      return pageFrom(portion)
    } finally {
      clearInterval(look)
      await portions.close()
    }
  }

  /** The job is opened when its first portion is requested, so that a body that is never read leaves nothing open. */
  #begun<T extends ReaderPortion>(
    job: ReaderJob,
    bundleHost?: Pick<BundleHost, 'sign'>,
  ): { readonly open: () => ReaderBody; readonly portions: Portions<T> } {
    const id = ++this.#lastId
    let body: ReaderBody | undefined
    const host = hostOf(this.#index, bundleHost)
    const open = () => {
      body ??= this.#leastBusy().open(id, job, host)
      return body
    }
    const portions: Portions<T> = {
      // The portions of a job are of the job's own kind.
      next: async () => (await open().next()) as T | undefined,
      leave: () => body?.leave(),
      close: async () => {
        await body?.close()
        await host.closed()
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

/** The host of one body. Call `closed` when the body is closed, or gone with its thread. */
function hostOf(
  index: IndexOwner,
  bundle: Pick<BundleHost, 'sign'> | undefined,
): BodyHost & { readonly closed: () => Promise<void> } {
  let isOpening = false
  return {
    vouch: (damage) => index.vouch(damage),
    opening: async () => {
      isOpening = true
      await index.opening()
    },
    opened: async () => {
      isOpening = false
      await index.opened()
    },
    sign: async (payloadType, payload) => await bundle?.sign(payloadType, payload),
    closed: async () => {
      if (isOpening) await index.opened()
    },
  }
}

/** Rows are parsed only if a caller accesses them as objects: over HTTP, their text is passed on unchanged. */
function pageFrom({ chunk, page }: PagePortion): AuditPage {
  const { buffer, byteOffset, byteLength } = chunk
  const text = Buffer.from(buffer, byteOffset, byteLength).toString()
  let items: readonly JsonObject[] | undefined
  return {
    ...page,
    get items() {
      items ??= parseJson(text) as readonly JsonObject[]
      return items
    },
    itemsText: () => text,
  }
}
