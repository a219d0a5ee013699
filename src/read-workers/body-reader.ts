/** @module Runs in a reader thread: makes exports, bundles, replays and answers from the thread's own store connection, one portion per request. */
import { bundlePortions } from '../export/bundle/bundle-portions.ts'
import type { BundleRequest } from '../export/bundle/plan-bundle.ts'
import { type ExportBody, LINES_BYTES, type Portions, portionsOf } from '../export/export-body.ts'
import { type Pace, ReaderLeftError, type WorkQueue } from '../resources/work-queue.ts'
import type { IndexOwner } from '../store/sqlite/audit-snapshots.ts'
import { type Handlers, Transfer } from '../workers/peer.ts'
import type { Owner } from '../workers/serve-thread.ts'
import type { ReaderCalls, ReaderHostCalls, ReaderJob, ReaderPortion } from './protocol.ts'
import { exportBody, exportLines } from './reader-exports.ts'
import { bundleReads, type ReaderSources, replayLines } from './reader-pages.ts'
import { answerFile, questionPortions } from './reader-questions.ts'
import { type ReplayRequest, replayPortions } from './replay-portions.ts'

/** Size of a portion. It is larger than that of a portion made in the main thread, because each portion costs that thread a message. */
const PORTION_SIZE = 256 * 1024

export interface BodyReaderDeps extends ReaderSources {
  /** The work queue in whose time slices all bodies are made: fair between tenants, then between callers. */
  readonly work: WorkQueue
  readonly owner: Pick<Owner<ReaderHostCalls>, 'ask'>
}

type Body = Portions<ReaderPortion> & Partial<Pick<ExportBody, 'trailer'>>

/** One body from its opening to its close. */
interface Open {
  readonly pace: Pace
  /** Aborted when the body is no longer wanted: pending questions to the owner are then cancelled. */
  readonly left: AbortController
  readonly job: ReaderJob
  body?: Body
}

export class BodyReader {
  readonly #deps: BodyReaderDeps
  readonly #bodies = new Map<number, Open>()

  constructor(deps: BodyReaderDeps) {
    this.#deps = deps
  }

  readonly handlers: Handlers<ReaderCalls> = {
    open: (id, job) => {
      const { tenant } = job.request
      const caller = 'caller' in job.request ? job.request.caller : job.request.exportedBy.actor
      const pace = this.#deps.work.begin({ tenant, caller })
      this.#bodies.set(id, { pace, left: new AbortController(), job })
    },
    next: async (id) => {
      const portion = await this.#body(id).next()
      if (portion === undefined) return undefined
      const chunk = alone(portion.chunk)
      return new Transfer({ ...portion, chunk }, [chunk.buffer])
    },
    trailer: async (id, trailer) => {
      const made = await this.#body(id).trailer?.(trailer)
      if (made === undefined) throw new TypeError('only an export has a trailer')
      const chunk = alone(made)
      return new Transfer(chunk, [chunk.buffer])
    },
    leave: (id) => this.#leave(id),
    close: async (id) => {
      const open = this.#bodies.get(id)
      this.#leave(id)
      this.#bodies.delete(id)
      await open?.body?.close()
    },
  }

  #leave(id: number): void {
    const open = this.#bodies.get(id)
    open?.pace.leave()
    open?.left.abort(new ReaderLeftError())
  }

  #body(id: number): Body {
    const open = this.#bodies.get(id)
    if (open === undefined) throw new RangeError('this body was closed')
    open.body ??= this.#bodyOf(id, open)
    return open.body
  }

  #bodyOf(id: number, { job, pace, left }: Open): Body {
    const making = { pace, owner: this.#indexOwner(id, left.signal), portionBytes: PORTION_SIZE }
    switch (job.kind) {
      case 'export':
        return exportBody(this.#deps, job.request, making)
      case 'lines':
        return exportLines(this.#deps, job.request, { ...making, portionBytes: LINES_BYTES, isFirst: job.isFirst })
      case 'bundle':
        return this.#bundle(id, job.request, { pace, left })
      case 'replay':
        return this.#replay(job.request, pace)
      case 'question':
        return portionsOf(questionPortions(this.#deps, job.request, making))
      case 'answer':
        return portionsOf(answerFile(this.#deps, job.request, making))
    }
  }

  #indexOwner(id: number, left: AbortSignal): IndexOwner {
    const { owner } = this.#deps
    return {
      vouch: (damage) => owner.ask('vouch', [id, damage], left),
      opening: () => owner.ask('opening', [id], left),
      opened: () => owner.ask('opened', [id], left),
    }
  }

  #bundle(id: number, request: BundleRequest, { pace, left }: Pick<Open, 'pace' | 'left'>): Portions<ReaderPortion> {
    const reads = bundleReads(this.#deps, request, pace)
    const host = {
      proofFiles: reads.proofFiles,
      sign: (payloadType: string, payload: Uint8Array) =>
        this.#deps.owner.ask('sign', [id, payloadType, payload], left.signal),
    }
    const portions = portionsOf(bundlePortions({ request, reads, host }, PORTION_SIZE))
    const close = async (): Promise<void> => {
      await portions.close()
      reads[Symbol.dispose]()
    }
    return { ...portions, close }
  }

  #replay(request: ReplayRequest, pace: Pace): Portions<ReaderPortion> {
    return portionsOf(replayPortions(replayLines(this.#deps, request, pace), PORTION_SIZE))
  }
}

/** The bytes in a buffer of exactly their length, so that the whole buffer can be transferred. */
function alone(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes
  const isAlone = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength
  return isAlone ? new Uint8Array(buffer) : new Uint8Array(bytes)
}
