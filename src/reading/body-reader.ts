/** @module The reader's side: makes exports, bundles, replays and answers from a store of its own, one portion at a time, each when it is requested. */
import { bundlePortions } from '../export/bundle/bundle-portions.ts'
import type { BundleRequest } from '../export/bundle/plan-bundle.ts'
import { type ExportBody, LINES_BYTES, type Portions, portionsOf } from '../export/export-body.ts'
import { type Pace, ReaderLeftError, type WorkQueue } from '../resources/work-queue.ts'
import type { IndexOwner } from '../store/sqlite/audit-snapshots.ts'
import type { FromReader, HostAnswer, HostQuestion, ReaderJob, ReaderPortion, ToReader } from './protocol.ts'
import { errorOf, failureOf } from './read-failure.ts'
import { exportBody, exportLines } from './reader-exports.ts'
import { bundleReads, type ReaderSources, replayLines } from './reader-pages.ts'
import { answerFile, questionPortions } from './reader-questions.ts'
import { type ReplayRequest, replayPortions } from './replay-portions.ts'

/** Each costs the other thread a message: it is larger than a portion that is made there. */
const PORTION_SIZE = 256 * 1024

type Say = (message: FromReader, handedOver: readonly ArrayBuffer[]) => void

export interface BodyReaderDeps extends ReaderSources {
  /** Whose slices all bodies are made in: shared by tenants, then by callers. */
  readonly work: WorkQueue
  readonly say: Say
}

/** One body from its opening to its close. */
interface Open {
  readonly pace: Pace
  readonly body: Portions<ReaderPortion> & Partial<Pick<ExportBody, 'trailer'>>
  /** A question to the host that waits for its answer. */
  asked?: { readonly resolve: (answer: HostAnswer) => void; readonly reject: (error: Error) => void } | undefined
}

export class BodyReader {
  readonly #deps: BodyReaderDeps
  readonly #bodies = new Map<number, Open>()

  constructor(deps: BodyReaderDeps) {
    this.#deps = deps
  }

  /** Answers `next`, `trailer` and `close` with one message each. Never rejects. */
  async receive(message: Exclude<ToReader, { kind: 'end' }>): Promise<void> {
    const { id } = message
    try {
      if (message.kind === 'open') this.#open(id, message.job)
      else if (message.kind === 'next') await this.#next(id)
      else if (message.kind === 'trailer') await this.#trailer(id, message.trailer)
      else if (message.kind === 'answer') this.#bodies.get(id)?.asked?.resolve(message.answer)
      else if (message.kind === 'leave') this.#leave(id)
      else await this.#close(id)
    } catch (error) {
      this.#deps.say({ kind: 'failed', id, failure: failureOf(error) }, [])
    }
  }

  async #next(id: number): Promise<void> {
    const portion = await this.#known(id).body.next()
    if (portion === undefined) return this.#deps.say({ kind: 'portion', id, portion }, [])
    const chunk = alone(portion.chunk)
    this.#deps.say({ kind: 'portion', id, portion: { ...portion, chunk } }, [chunk.buffer])
  }

  async #trailer(id: number, trailer: Parameters<ExportBody['trailer']>[0]): Promise<void> {
    const made = await this.#known(id).body.trailer?.(trailer)
    if (made === undefined) throw new TypeError('only an export has a trailer')
    const chunk = alone(made)
    this.#deps.say({ kind: 'trailer', id, chunk }, [chunk.buffer])
  }

  #leave(id: number): void {
    const open = this.#bodies.get(id)
    open?.pace.leave()
    open?.asked?.reject(new ReaderLeftError())
  }

  async #close(id: number): Promise<void> {
    const open = this.#bodies.get(id)
    this.#leave(id)
    this.#bodies.delete(id)
    await open?.body.close()
    this.#deps.say({ kind: 'closed', id }, [])
  }

  #known(id: number): Open {
    const open = this.#bodies.get(id)
    if (open === undefined) throw new RangeError('this body was closed')
    return open
  }

  #open(id: number, job: ReaderJob): void {
    const { tenant } = job.request
    const caller = 'caller' in job.request ? job.request.caller : job.request.exportedBy.actor
    const pace = this.#deps.work.begin({ tenant, caller })
    this.#bodies.set(id, { pace, body: this.#bodyOf(id, job, pace) })
  }

  #bodyOf(id: number, job: ReaderJob, pace: Pace): Open['body'] {
    const making = { pace, owner: this.#indexOwner(id), portionBytes: PORTION_SIZE }
    switch (job.kind) {
      case 'export':
        return exportBody(this.#deps, job.request, making)
      case 'lines':
        return exportLines(this.#deps, job.request, { ...making, portionBytes: LINES_BYTES, isFirst: job.isFirst })
      case 'bundle':
        return this.#bundle(id, job.request, pace)
      case 'replay':
        return this.#replay(job.request, pace)
      case 'question':
        return portionsOf(questionPortions(this.#deps, job.request, making))
      case 'answer':
        return portionsOf(answerFile(this.#deps, job.request, making))
    }
  }

  #indexOwner(id: number): IndexOwner {
    return {
      vouch: async (damage) => {
        const answer = await this.#ask(id, { what: 'index-state', damage })
        if (answer.what !== 'index-state')
          throw new TypeError(`the state of the index was answered with ${answer.what}`)
        return answer.state
      },
      opening: async () => void (await this.#ask(id, { what: 'index-opening' })),
      opened: async () => void (await this.#ask(id, { what: 'index-opened' })),
    }
  }

  #bundle(id: number, request: BundleRequest, pace: Pace): Portions<ReaderPortion> {
    const ask = (question: HostQuestion) => this.#ask(id, question)
    const reads = bundleReads(this.#deps, request, pace)
    const host = {
      proofFiles: reads.proofFiles,
      sign: async (payloadType: string, payload: Uint8Array) => {
        const answer = await ask({ what: 'sign', payloadType, payload })
        if (answer.what !== 'signed') throw new TypeError(`a signature was answered with ${answer.what}`)
        return answer.envelope
      },
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

  async #ask(id: number, question: HostQuestion): Promise<HostAnswer> {
    const open = this.#known(id)
    const answered = new Promise<HostAnswer>((resolve, reject) => {
      open.asked = { resolve, reject }
    })
    this.#deps.say({ kind: 'question', id, question }, [])
    const answer = await answered.finally(() => {
      open.asked = undefined
    })
    if (answer.what === 'failed') throw errorOf(answer.failure)
    return answer
  }
}

/** In a buffer that holds nothing else: that one is handed over whole. */
function alone(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes
  const isAlone = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength
  return isAlone ? new Uint8Array(buffer) : new Uint8Array(bytes)
}
