/** @module The body of an export, everything before its trailer: produced in portions, which are counted and hashed as they are produced. */
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

/** The part of the file that was produced so far, including the part before the offset. */
export interface MadeSoFar {
  readonly events: number
  readonly bytes: number
  /** `sha256:` and hexadecimal digits. */
  readonly digest: string
}

/** A mutable version of `MadeSoFar`. */
export type Making = { -readonly [K in keyof MadeSoFar]: MadeSoFar[K] }

export const NOTHING_MADE: MadeSoFar = { events: 0, bytes: 0, digest: `sha256:${createHash('sha256').digest('hex')}` }

export interface BodyPortion extends MadeSoFar {
  /** Lost events of the whole file that were found so far. */
  readonly losses: readonly Loss[]
  /** Empty if the whole portion is before the offset. */
  readonly chunk: Uint8Array
}

/** Data that is produced in portions, each on request. */
export interface Portions<T> {
  /** The next portion; undefined at the end. Rejects with what reading the store throws. */
  next(): Promise<T | undefined>
  /** The client wants no more: production in another thread ends soon. */
  leave(): void
  /** Releases all resources, also those in another thread. */
  close(): Promise<void>
}

/** Portions that are produced in this thread, where a pace detects that a reader has left. */
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
  /** The caller to whose share of read time the work is charged. */
  readonly caller: string
  readonly run?: string
  /** Restricts the events to those that the audit index finds, as of a size of the log. */
  readonly matching?: { readonly filter: EventQuery; readonly asOf: AsOf }
  /** Number of leaves of the pinned log; lines may name only these. */
  readonly leaves: number
  /** Whether the events are compared with a tree: the log is kept, and has not stopped before the pin. */
  readonly hasTree: boolean
  /** For a part of the log: position of the event before it. */
  readonly after?: Position
  readonly filter?: ExportScope['filter']
  readonly part?: ExportScope['part']
  readonly until: Position
}

export interface BodyRequest extends LinesRequest {
  /** Number of bytes that the client already has. */
  readonly offset: number
}

/** Produces bodies outside the thread that writes. */
export interface BodyMaker {
  /** Undefined if the writing thread would take no longer. `linesHere`: produces lines of an export of the tenant's log, or of a part of it, in that thread. */
  body(request: BodyRequest, linesHere: LinesMaker): ExportBody | undefined
}

/** Lines of the events after `after`, up to `until`; `isFirst` if they begin the file. */
export type LinesMaker = (range: Pick<LinesRequest, 'after' | 'until'>, isFirst: boolean) => Portions<LinesPortion>

/** Size of a portion of a stretch; most stretches are one portion. */
export const LINES_BYTES = 1024 * 1024
/** Enough for a typical stretch. */
const LINES_ROOM_BYTES = 768 * 1024

/** A portion of a stretch of a file, which is produced independently of the stretches before and after it. */
export interface LinesPortion {
  readonly chunk: Uint8Array
  /** Number of events in this chunk. */
  readonly events: number
  /** Time of the last of these events. */
  readonly lastTime: string | undefined
  /** Whether this is the last portion of the stretch. */
  readonly isLast: boolean
  /** Lost events of the stretch that were found so far. */
  readonly losses: readonly Loss[]
}

export interface LinesSource {
  readonly pages: AsyncIterable<readonly LedgerEvent[]>
  /** Receives each event. */
  readonly reading: EventReading
  readonly writer: FormatWriter
  /** A portion is sent when it has this many bytes, and at the end of a page. */
  readonly portionBytes: number
  /** Whether the end of a page also ends a portion. Default true. */
  readonly wholePages?: boolean
}

export interface BodySource extends LinesSource {
  readonly offset: number
}

/** A body that is produced in this thread as the events are read. */
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

/** The lines alone, preceded by the head of the file if they are its first ones. */
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

/** Buffers are reused: allocating one per stretch would trigger garbage collection four times as often, since the engine counts external memory. */
const idleTexts: TextBytes[] = []
const IDLE_TEXTS_MAX = 2
const IDLE_ROOM_MAX_BYTES = 4 * LINES_BYTES

type Filled = Omit<LinesPortion, 'chunk'>

/** Writes everything but the trailer to `file`, and pauses whenever a portion is to be taken from there. */
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
    // Also an empty portion: before a distant offset there are no bytes for a long time, and the reader may leave in the meantime.
    if (wholePages) yield filled(false)
  }
  reading.end()
  file.add(writer.rest())
  yield filled(true)
}
