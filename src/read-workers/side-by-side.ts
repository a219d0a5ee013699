/**
 * @module An export whose stretches several threads write side by side, this one among them, which puts them together in their order and keeps count and digest.
 * Bytes are those of one thread. A stretch that fails, or whose thread ends, fails the export at that place: what stands behind it never takes its place.
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

/** This thread has written nearly as many before another has begun to. */
const POSITIONS_MIN = 40_000
/** Stretches under way for each thread: one is written, one waits, so that no thread does. */
const AHEAD = 2
/** Stretches that were begun and not taken, and what waits of them in memory: beyond either none is begun. */
const BEGUN_MAX = 24
const WAITING_MAX_BYTES = 8 * 1024 * 1024
/** Of a stretch. One that turns out longer comes in portions of a megabyte, of which one waits. */
const STRETCH_BYTES = 512 * 1024
/** Of an event, until the first stretch is written and says how long they are. */
const FIRST_BYTES = 4 * 1024
const POSITIONS_MOST = 4_096

export interface SideBySideOptions {
  /** Threads that read the store's file. */
  readonly readers: {
    readonly count: number
    /** Resolves when they have begun. */
    ready(): Promise<void>
    lines(request: LinesRequest, isFirst: boolean): Portions<LinesPortion>
  }
  /** A shorter part of the store is not worth it. Default 40,000. */
  readonly positionsMin?: number
  /** Default half a megabyte. */
  readonly stretchBytes?: number
}

/** One export at a time, so that what waits to be taken is bounded; any other is made in one thread. */
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
      // Of the stretches that are written, and of the one that is being written.
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
  /** Requested before it is wanted. */
  portion: Promise<LinesPortion | undefined>
  /** Of the portion, once it is here; undefined until then. */
  waitingBytes: number | undefined
  /** Of the portions that were taken. */
  takenBytes: number
}

/** Stretches of the store in their order, of which some are under way. */
class Stretches {
  readonly #request: LinesRequest
  readonly #linesHere: LinesMaker
  readonly #options: SideBySideOptions
  readonly #until: number
  /** Everything up to here was begun. */
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
    // Where they cannot begin, this thread writes all of it.
    readers.ready().then(
      () => {
        this.#areReady = true
      },
      () => undefined,
    )
  }

  /** Undefined once all of them are taken. Rejects with what reading the store throws, where a thread has ended, and once its reader has left. */
  async next(): Promise<LinesPortion | undefined> {
    this.#handOut()
    const first = this.#begun[0] ?? this.#begin(false)
    if (first === undefined) return undefined
    // While nothing is there to be taken, this thread writes what comes after.
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

  /** Nobody wants more: none begins any more, and those that are under way end soon. */
  leave(): void {
    this.#failure ??= new ReaderLeftError()
    for (const { lines } of this.#begun) lines.leave()
  }

  async close(): Promise<void> {
    this.leave()
    for (const stretch of this.#begun.splice(0)) this.#close(stretch)
    await Promise.allSettled(this.#closing)
  }

  /** To threads that have nothing to do next. */
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

  /** Undefined where all have begun. */
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

  /** The next ones are of the length that this one should have been of. */
  #done(stretch: PageSpan): void {
    this.#begun.shift()
    this.#close(stretch)
    const { stretchBytes = STRETCH_BYTES } = this.#options
    const bytesAPosition = Math.max(stretch.takenBytes / stretch.positions, 1)
    this.#positions = Math.min(Math.max(Math.round(stretchBytes / bytesAPosition), 1), POSITIONS_MOST)
  }

  /** What was requested of it is waited for: a thread is asked one thing of a stretch at a time. */
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
  // Whoever takes it hears of its failure; until then nobody may.
  stretch.portion.then(
    (portion) => {
      stretch.waitingBytes = portion?.chunk.length ?? 0
    },
    () => {
      stretch.waitingBytes = 0
    },
  )
}
