/** @module The reader's side: makes bodies of exports from a store of its own, one portion at a time, each when it is requested. */
import { runStream } from '../../schemas/names.ts'
import { type BodyRequest, bodyOf, type ExportBody } from '../export/export-body.ts'
import { FORMATS } from '../export/formats.ts'
import { upTo } from '../export/up-to.ts'
import type { Sealer } from '../ledger/identity/sealer.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import { ledgerEvent } from '../ledger/read/parse-record.ts'
import { sealOf } from '../ledger/read/record-seal.ts'
import { type ReadRecord, type StoreReader, StoreUnavailableError } from '../store/event-store.ts'
import type { FromReader, ReadFailure, ToReader } from './protocol.ts'

/** Each costs the other thread a message: it is larger than a portion that is made there. */
const PORTION_CHARS = 256 * 1024
/** The store has not what was pinned: somebody put another file in its place. */
const BEHIND_RETRY_MS = 5_000

type Say = (message: FromReader, handedOver: readonly ArrayBuffer[]) => void

export interface BodyReaderDeps {
  readonly store: StoreReader
  readonly sealer: Sealer
  readonly say: Say
}

export class BodyReader {
  readonly #deps: BodyReaderDeps
  readonly #bodies = new Map<number, ExportBody>()

  constructor(deps: BodyReaderDeps) {
    this.#deps = deps
  }

  /** Answers each message but `open` with one. Never rejects. */
  async receive(message: Exclude<ToReader, { kind: 'end' }>): Promise<void> {
    const { id } = message
    try {
      if (message.kind === 'open') this.#bodies.set(id, this.#body(message.request))
      else if (message.kind === 'next') await this.#next(id)
      else if (message.kind === 'trailer') {
        const chunk = alone(await this.#known(id).trailer(message.trailer))
        this.#deps.say({ kind: 'trailer', id, chunk }, [chunk.buffer])
      } else {
        const body = this.#bodies.get(id)
        this.#bodies.delete(id)
        await body?.close()
        this.#deps.say({ kind: 'closed', id }, [])
      }
    } catch (error) {
      this.#deps.say({ kind: 'failed', id, failure: failureOf(error) }, [])
    }
  }

  async #next(id: number): Promise<void> {
    const portion = await this.#known(id).next()
    if (portion === undefined) return this.#deps.say({ kind: 'portion', id, portion }, [])
    const chunk = alone(portion.chunk)
    this.#deps.say({ kind: 'portion', id, portion: { ...portion, chunk } }, [chunk.buffer])
  }

  #known(id: number): ExportBody {
    const body = this.#bodies.get(id)
    if (body === undefined) throw new RangeError('this body was closed')
    return body
  }

  #body(request: BodyRequest): ExportBody {
    const { format, ledgerId, tenant, offset, part } = request
    const writer = FORMATS[format].open({ ledgerId, tenant, ...(part && { part }), leafIndex: () => undefined })
    const pages = this.#pages(request)
    return bodyOf({ pages, writer, offset, portionChars: PORTION_CHARS, wholePages: false })
  }

  async *#pages({ tenant, run, after, until }: BodyRequest): AsyncGenerator<readonly LedgerEvent[], void> {
    const { store, sealer } = this.#deps
    const end = await store.end()
    if (end === undefined || store.comparePositions(end, until) < 0)
      throw new StoreUnavailableError('the store ends before what the export is pinned to', BEHIND_RETRY_MS)
    const shown = (record: ReadRecord): LedgerEvent => ({ seal: sealOf(sealer, record), ...ledgerEvent(record) })
    const pages = run === undefined ? store.readAll({ after, until, tenant }) : store.readStream(runStream(tenant, run))
    for await (const page of upTo(store, pages, until)) yield page.map(shown)
  }
}

/** In a buffer that holds nothing else: that one is handed over whole. */
function alone(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes
  const isAlone = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength
  return isAlone ? new Uint8Array(buffer) : new Uint8Array(bytes)
}

function failureOf(error: unknown): ReadFailure {
  const message = error instanceof Error ? error.message : String(error)
  return error instanceof StoreUnavailableError ? { message, retryAfterMs: error.retryAfterMs } : { message }
}
