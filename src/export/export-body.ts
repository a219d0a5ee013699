/** @module The body of an export, all that stands before its trailer: made in portions, counted and digested as they are made. */
import { createHash } from 'node:crypto'
import type { EventQuery } from '../../schemas/event-query.ts'
import type { ExportTrailer } from '../../schemas/export-trailer.ts'
import type { Mutable } from '../../schemas/mutable.ts'
import type { AsOf } from '../ledger/audit/audit-reads.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import type { Position } from '../store/event-store.ts'
import { ExportFile } from './export-file.ts'
import type { ExportScope, FormatWriter } from './format.ts'
import type { FormatName } from './formats.ts'

/** What of the file is made so far, the part before the offset included. */
export interface MadeSoFar {
  readonly events: number
  readonly bytes: number
  /** `sha256:` and hexadecimal digits. */
  readonly digest: string
}

/** The same, while it grows. */
export type Making = Mutable<MadeSoFar>

export const NOTHING_MADE: MadeSoFar = { events: 0, bytes: 0, digest: `sha256:${createHash('sha256').digest('hex')}` }

export interface BodyPortion extends MadeSoFar {
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
export interface BodyRequest {
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
  /** Of a part of the log: the event before it. */
  readonly after?: Position
  readonly filter?: ExportScope['filter']
  readonly part?: ExportScope['part']
  readonly until: Position
  /** So many bytes are there already. */
  readonly offset: number
}

/** Makes bodies elsewhere than in the thread that writes. */
export interface BodyMaker {
  body(request: BodyRequest): ExportBody
}

export interface BodySource {
  readonly pages: AsyncIterable<readonly LedgerEvent[]>
  readonly writer: FormatWriter
  readonly offset: number
  /** A portion is sent as soon as it has so many bytes, and at the end of a page. */
  readonly portionBytes: number
  /** A page that is shorter is not a portion by itself. Default: every page is one. */
  readonly wholePages?: boolean
}

/** Made here, as it is read. */
export function bodyOf(source: BodySource): ExportBody {
  const file = new ExportFile(source.offset)
  return {
    ...portionsOf(eventPortions(source, file)),
    trailer: async (trailer) => {
      file.add(source.writer.trailer(trailer))
      return file.portion()
    },
  }
}

async function* eventPortions(
  { pages, writer, portionBytes, wholePages = true }: BodySource,
  file: ExportFile,
): AsyncGenerator<BodyPortion, void> {
  let events = 0
  const portion = (): BodyPortion => ({ chunk: file.portion(), events, bytes: file.bytes, digest: file.digest() })
  file.add(writer.head)
  for await (const page of pages) {
    for (const event of page) {
      if (writer.write === undefined) file.add(writer.event(event))
      else writer.write(event, file)
      events += 1
      if (file.waiting > portionBytes) yield portion()
    }
    // Also an empty one: an offset far ahead gives nothing for long, and its reader may leave meanwhile.
    if (wholePages) yield portion()
  }
  file.add(writer.rest())
  yield portion()
}
