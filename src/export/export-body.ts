/** @module The body of an export, all that stands before its trailer: made in portions, counted and digested as they are made. */
import { createHash } from 'node:crypto'
import type { EventQuery } from '../../schemas/event-query.ts'
import type { ExportTrailer } from '../../schemas/export-trailer.ts'
import type { Loss } from '../../schemas/loss.ts'
import type { AsOf } from '../ledger/audit/audit-reads.ts'
import type { EventReading } from '../ledger/integrity/event-reading.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import type { Position } from '../store/event-store.ts'
import { ExportFile, TextBytes } from './export-file.ts'
import type { ExportScope, FileText, FormatWriter } from './format.ts'
import type { FormatName } from './formats.ts'

/** What of the file is made so far, the part before the offset included. */
export interface MadeSoFar {
  readonly events: number
  readonly bytes: number
  /** `sha256:` and hexadecimal digits. */
  readonly digest: string
}

/** The same, while it grows. */
export type Making = { -readonly [K in keyof MadeSoFar]: MadeSoFar[K] }

export const NOTHING_MADE: MadeSoFar = { events: 0, bytes: 0, digest: `sha256:${createHash('sha256').digest('hex')}` }

export interface BodyPortion extends MadeSoFar {
  /** What was found so far of events that are lost, of the whole file. */
  readonly losses: readonly Loss[]
  /** Empty where all of it lies before the offset. */
  readonly chunk: Uint8Array
}

/** What is made in portions, each when it is requested. */
export interface Portions<T> {
  /** Undefined once all of it is made. Rejects with what reading the store throws. */
  next(): Promise<T | undefined>
  /** Nobody wants more: what is being made ends soon, where it is made by another thread. */
  leave(): void
  /** Gives back what it holds, wherever it is. */
  close(): Promise<void>
}

/** Made in this thread, whose readers are known to leave by their own pace. */
export function portionsOf<T>(made: AsyncGenerator<T, void>): Portions<T> {
  return {
    next: async () => {
      const next = await made.next()
      return next.done === true ? undefined : next.value
    },
    leave: () => undefined,
    close: () => made.return().then(() => undefined),
  }
}

export interface ExportBody extends Portions<BodyPortion> {
  /** The end of the file, after the last portion. */
  trailer(trailer: ExportTrailer): Promise<Uint8Array>
}

/** The events of a tenant, of one run or of a query, up to a position. */
export interface LinesRequest {
  readonly format: FormatName
  readonly ledgerId: string
  readonly tenant: string
  /** Whose share of the readers' time it takes. */
  readonly caller: string
  readonly run?: string
  /** What the index of the audit finds, as of a size of the log, instead of all. */
  readonly matching?: { readonly filter: EventQuery; readonly asOf: AsOf }
  /** Leaves of the pinned log: those that lines may name. */
  readonly leaves: number
  /** There is a tree of them, that the events are held against: the log is kept, and has not stopped before the pin. */
  readonly hasTree: boolean
  /** Of a part of the log: the event before it. */
  readonly after?: Position
  readonly filter?: ExportScope['filter']
  readonly part?: ExportScope['part']
  readonly until: Position
}

export interface BodyRequest extends LinesRequest {
  /** So many bytes are there already. */
  readonly offset: number
}

/** Makes bodies elsewhere than in the thread that writes. */
export interface BodyMaker {
  /** Undefined where the thread that writes makes it in no more time. `linesHere`: in that thread, of an export of the tenant's log or a part of it. */
  body(request: BodyRequest, linesHere: LinesMaker): ExportBody | undefined
}

/** Of the events behind `after`, up to `until`; `isFirst` where they begin the file. */
export type LinesMaker = (range: Pick<LinesRequest, 'after' | 'until'>, isFirst: boolean) => Portions<LinesPortion>

/** Of a portion of a stretch: most stretches are one. */
export const LINES_BYTES = 1024 * 1024
/** Enough for a usual stretch. */
const LINES_ROOM_BYTES = 768 * 1024

/** A stretch of a file, made apart from what stands before and behind it. */
export interface LinesPortion {
  readonly chunk: Uint8Array
  /** In this chunk. */
  readonly events: number
  /** Of the last of them. */
  readonly lastTime: string | undefined
  /** Nothing more comes of the stretch. */
  readonly isLast: boolean
  /** What was found so far of events that are lost, of the stretch. */
  readonly losses: readonly Loss[]
}

export interface LinesSource {
  readonly pages: AsyncIterable<readonly LedgerEvent[]>
  /** Is told of each event. */
  readonly reading: EventReading
  readonly writer: FormatWriter
  /** A portion is sent as soon as it has so many bytes, and at the end of a page. */
  readonly portionBytes: number
  /** A page that is shorter is not a portion by itself. Default: every page is one. */
  readonly wholePages?: boolean
}

export interface BodySource extends LinesSource {
  readonly offset: number
}

/** Made here, as it is read. */
export function bodyOf({ offset, ...source }: BodySource): ExportBody {
  const file = new ExportFile(offset)
  let lastTime: string | undefined
  const portions = async function* (): AsyncGenerator<BodyPortion, void> {
    let events = 0
    for await (const filled of fill(file, source)) {
      events += filled.events
      lastTime = filled.lastTime ?? lastTime
      const { losses } = filled
      yield { chunk: file.portion(), events, bytes: file.bytes, digest: file.digest(), losses }
    }
  }
  return {
    ...portionsOf(portions()),
    trailer: async (trailer) => {
      file.add(source.writer.trailer(trailer, lastTime))
      return file.portion()
    },
  }
}

/** The lines alone; with what stands before the first line of a file where they are the first of one. */
export async function* linesOf(
  source: LinesSource,
  { isFirst }: { readonly isFirst: boolean },
): AsyncGenerator<LinesPortion, void> {
  const { writer } = source
  const text = idleTexts.pop() ?? new TextBytes(LINES_ROOM_BYTES)
  const inFile = isFirst ? source : { ...source, writer: { ...writer, head: '' } }
  try {
    for await (const filled of fill(text, inFile)) yield { chunk: text.take(), ...filled }
  } finally {
    text.waiting = 0
    if (idleTexts.length < IDLE_TEXTS_MAX && text.roomBytes <= IDLE_ROOM_MAX_BYTES) idleTexts.push(text)
  }
}

/** A room for each stretch would have the engine look for garbage four times as often: it counts what lies outside its heap. */
const idleTexts: TextBytes[] = []
const IDLE_TEXTS_MAX = 2
const IDLE_ROOM_MAX_BYTES = 4 * LINES_BYTES

type Filled = Omit<LinesPortion, 'chunk'>

/** Writes all but the trailer to where the file is gathered, and pauses wherever a portion is to be taken from there. */
async function* fill(
  file: FileText & { readonly waiting: number },
  { pages, reading, writer, portionBytes, wholePages = true }: LinesSource,
): AsyncGenerator<Filled, void> {
  let events = 0
  let lastTime: string | undefined
  const filled = (isLast: boolean): Filled => {
    const portion = { events, lastTime, isLast, losses: reading.losses }
    events = 0
    return portion
  }
  file.add(writer.head)
  for await (const page of pages) {
    for (const event of page) {
      if (writer.write === undefined) file.add(writer.event(event))
      else writer.write(event, file)
      reading.take(event)
      events += 1
      lastTime = event.header.time
      if (file.waiting > portionBytes) yield filled(false)
    }
    // Also an empty one: an offset far ahead gives nothing for long, and its reader may leave meanwhile.
    if (wholePages) yield filled(false)
  }
  reading.end()
  file.add(writer.rest())
  yield filled(true)
}
