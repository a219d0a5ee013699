/**
 * @module An export that several threads write in parallel, each one stretch (a range of store positions) at a time. This thread joins the stretches in order,
 * keeps count and digest, and writes stretches itself while it waits. The bytes are the same as those of a single thread. If a stretch fails or its thread
 * ends, the export fails at that place; later stretches are never put in its place.
 */
import { LOSSES_MAX, type Loss } from '../../schemas/loss.ts'
import {
  type BodyMaker,
  type BodyPortion,
  type BodyRequest,
  type ExportBody,
  type LinesMaker,
  type LinesPortion,
  type LinesRequest,
  type Portions,
  portionsOf,
} from '../export/export-body.ts'
import { ExportFile } from '../export/export-file.ts'
import { FORMATS } from '../export/formats.ts'
import { ReaderLeftError } from '../resources/work-queue.ts'
import { parsePosition } from '../store/decimal-position.ts'

/** Minimum length of the export, in store positions: this thread writes nearly that many before another thread has started. */
const POSITIONS_MIN = 40_000
/** Stretches in progress per reader thread: one is being written and one is queued, so that no thread is idle. */
const AHEAD = 2
/** Limits of stretches that were started but not consumed yet, by count and by bytes in memory; at either limit no further stretch is started. */
const BEGUN_MAX = 24
const WAITING_MAX_BYTES = 8 * 1024 * 1024
/** Target size of a stretch, in bytes. A larger one comes in portions of a megabyte, of which one is held at a time. */
const STRETCH_BYTES = 512 * 1024
/** Assumed size of an event, in bytes, until the first stretch shows the real size. */
const FIRST_BYTES = 4 * 1024
const POSITIONS_MOST = 4_096

export interface SideBySideOptions {
  /** Threads that read the store's file. */
  readonly readers: {
    readonly count: number
    /** Resolves when all threads have started. */
    ready(): Promise<void>
    lines(request: LinesRequest, isFirst: boolean): Portions<LinesPortion>
  }
  /** Exports of fewer positions are not parallelized. Default 40,000. */
  readonly positionsMin?: number
  /** Default half a megabyte. */
  readonly stretchBytes?: number
}

/** One export at a time, so that the memory of unconsumed stretches is bounded; other exports are made in one thread. */
export class SideBySide implements BodyMaker {
  readonly #options: SideBySideOptions
  #isBusy = false

  constructor(options: SideBySideOptions) {
    this.#options = options
  }

  body(request: BodyRequest, linesHere: LinesMaker): ExportBody | undefined {
    const { positionsMin = POSITIONS_MIN } = this.#options
    const { format, run, matching } = request
    const { after, until } = placesOf(request)
    const isComplete = run === undefined && matching === undefined
    if (this.#isBusy || !isComplete || !FORMATS[format].isByEvent || until - after < positionsMin) return undefined
    this.#isBusy = true
    const stretches = new Stretches(request, linesHere, this.#options)
    const file = new ExportFile(request.offset)
    let lastTime: string | undefined
    const portions = async function* (): AsyncGenerator<BodyPortion, void> {
      let events = 0
      // Losses of the finished stretches; those of the current stretch are added below.
      let before: readonly Loss[] = []
      for (let lines = await stretches.next(); lines !== undefined; lines = await stretches.next()) {
        events += lines.events
        lastTime = lines.lastTime ?? lastTime
        const chunk = file.pass(lines.chunk)
        const losses = [...before, ...lines.losses].slice(0, LOSSES_MAX)
        if (lines.isLast) before = losses
        yield { chunk, events, bytes: file.bytes, digest: file.digest(), losses }
      }
    }
    const made = portionsOf(portions())
    return {
      next: made.next,
      leave: () => stretches.leave(),
      close: async () => {
        stretches.leave()
        await made.close()
        await stretches.close()
        this.#isBusy = false
      },
      trailer: async (trailer) => {
        const { ledgerId, tenant, filter, part } = request
        const scope = { ledgerId, tenant, ...(filter && { filter }), ...(part && { part }) }
        file.add(FORMATS[format].open({ ...scope, leafIndex: () => undefined }).trailer(trailer, lastTime))
        return file.portion()
      },
    }
  }
}

function placesOf({ after, until }: Pick<LinesRequest, 'after' | 'until'>) {
  return { after: after === undefined ? 0 : parsePosition(after), until: parsePosition(until) }
}

interface PageSpan {
  readonly positions: number
  readonly lines: Portions<LinesPortion>
  readonly isRemote: boolean
  /** Requested in advance. */
  portion: Promise<LinesPortion | undefined>
  /** Bytes of the portion once it has arrived; undefined until then. */
  waitingBytes: number | undefined
  /** Bytes of the portions consumed so far. */
  takenBytes: number
}

/** The stretches of the store in order; several of them are in progress. */
class Stretches {
  readonly #request: LinesRequest
  readonly #linesHere: LinesMaker
  readonly #options: SideBySideOptions
  readonly #until: number
  /** Stretches up to this position were started. */
  #through: number
  #positions: number
  #isFirst = true
  readonly #begun: PageSpan[] = []
  readonly #closing = new Set<Promise<void>>()
  #areReady = false
  #failure: Error | undefined

  constructor({ offset: _, ...request }: BodyRequest, linesHere: LinesMaker, options: SideBySideOptions) {
    const { after, until } = placesOf(request)
    this.#request = request
    this.#linesHere = linesHere
    this.#options = options
    this.#through = after
    this.#until = until
    const { stretchBytes = STRETCH_BYTES, readers } = options
    this.#positions = Math.max(Math.round(stretchBytes / FIRST_BYTES), 1)
    // If the threads cannot start, this thread writes all stretches.
    readers.ready().then(
      () => {
        this.#areReady = true
      },
      () => undefined,
    )
  }

  /** The next portion in order; undefined once all were consumed. Rejects with an error of reading the store, if a thread has ended, and after `leave`. */
  async next(): Promise<LinesPortion | undefined> {
    this.#handOut()
    const first = this.#begun[0] ?? this.#begin(false)
    if (first === undefined) return undefined
    // While the next portion in order is not ready, this thread writes a later stretch.
    while (first.isRemote && first.waitingBytes === undefined && this.#hasRoom()) {
      const own = this.#begin(false)
      if (own === undefined) break
      await own.portion.catch(() => undefined)
      this.#handOut()
    }
    const portion = await first.portion
    if (this.#failure !== undefined) throw this.#failure
    if (portion === undefined) throw new TypeError('a stretch of an export ended without its last portion')
    first.takenBytes += portion.chunk.length
    if (portion.isLast) this.#done(first)
    else request(first)
    return portion
  }

  /** Cancels the export: no further stretch is started, and those in progress end soon. */
  leave(): void {
    this.#failure ??= new ReaderLeftError()
    for (const { lines } of this.#begun) lines.leave()
  }

  async close(): Promise<void> {
    this.leave()
    for (const stretch of this.#begun.splice(0)) this.#close(stretch)
    await Promise.allSettled(this.#closing)
  }

  /** Gives stretches to reader threads until each has its share. */
  #handOut(): void {
    const most = this.#areReady ? this.#options.readers.count * AHEAD : 0
    const isUnderWay = ({ isRemote, waitingBytes }: PageSpan) => isRemote && waitingBytes === undefined
    let underWay = this.#begun.filter(isUnderWay).length
    for (; underWay < most && this.#hasRoom(); underWay += 1) if (this.#begin(true) === undefined) return
  }

  #hasRoom(): boolean {
    const bytes = this.#begun.reduce((sum, { waitingBytes = 0 }) => sum + waitingBytes, 0)
    return this.#begun.length < BEGUN_MAX && bytes < WAITING_MAX_BYTES
  }

  /** Undefined if all stretches were started. */
  #begin(isRemote: boolean): PageSpan | undefined {
    if (this.#failure !== undefined) throw this.#failure
    const from = this.#through
    if (from >= this.#until) return undefined
    const to = Math.min(from + this.#positions, this.#until)
    const range = { ...(from > 0 && { after: String(from) }), until: String(to) }
    const lines = isRemote
      ? this.#options.readers.lines({ ...this.#request, ...range }, this.#isFirst)
      : this.#linesHere(range, this.#isFirst)
    this.#isFirst = false
    this.#through = to
    const place = { positions: to - from, lines, isRemote, takenBytes: 0, waitingBytes: undefined }
    const stretch: PageSpan = { ...place, portion: Promise.resolve(undefined) }
    request(stretch)
    this.#begun.push(stretch)
    return stretch
  }

  /** The next stretches get the number of positions that would have met the target size. */
  #done(stretch: PageSpan): void {
    this.#begun.shift()
    this.#close(stretch)
    const { stretchBytes = STRETCH_BYTES } = this.#options
    const bytesAPosition = Math.max(stretch.takenBytes / stretch.positions, 1)
    this.#positions = Math.min(Math.max(Math.round(stretchBytes / bytesAPosition), 1), POSITIONS_MOST)
  }

  /** Waits for the pending portion first: a thread handles one request per stretch at a time. */
  #close({ portion, lines }: PageSpan): void {
    const close = (): Promise<void> => lines.close()
    const closed = portion.then(close, close)
    this.#closing.add(closed)
    const forget = (): void => void this.#closing.delete(closed)
    closed.then(forget, forget)
  }
}

function request(stretch: PageSpan): void {
  stretch.waitingBytes = undefined
  stretch.portion = stretch.lines.next()
  // The consumer of the portion handles its failure; the handler here prevents an unhandled rejection before that.
  stretch.portion.then(
    (portion) => {
      stretch.waitingBytes = portion?.chunk.length ?? 0
    },
    () => {
      stretch.waitingBytes = 0
    },
  )
}
