/** @module What a line format of exports is: pure text over events in their order, with a trailer in a form of its own. */
import type { ExportTrailer, PartHead } from '../../schemas/export-trailer.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'

export type { ExportTrailer }

/** What is exported, known before the first event. */
export interface ExportScope {
  readonly ledgerId: string
  readonly tenant: string
  /** The query whose events these are; absent where they are all of a run or a tenant. */
  readonly filter?: JsonObject
  /** Where these are a part of the tenant's log: what it goes on from, and the time of the event before it, 0 where there is none. */
  readonly part?: PartHead & { readonly beforeMs: number }
  /** Index of an event's leaf in the tenant's log, where it has one. */
  readonly leafIndex: (eventId: string) => number | undefined
}

/** Where a file is gathered. */
export interface FileText {
  add(text: string): void
  /** A well-formed text as it stands within a string of JSON, without the quotes around it. */
  addEscaped(text: string): void
  /** A well-formed text as it stands within a quoted cell of CSV, without the quotes around it. */
  addDoubled(text: string): void
}

/** One export under way. The texts, joined, are the file; the same events make the same bytes. */
export interface FormatWriter {
  /** Before the first event. */
  readonly head: string
  /** May be empty: some formats wait for later events. */
  readonly event: (event: LedgerEvent) => string
  /** Writes the same where the file is gathered, for formats in which that takes less time. */
  readonly write?: (event: LedgerEvent, file: FileText) => void
  /** Of formats that wait: takes an event from before a part, of which nothing is written. */
  readonly before?: (event: LedgerEvent) => void
  /** What was waited for and has not come. Empty in a part: it comes with the part in which it ends. */
  readonly rest: () => string
  /** Counts and digests all that stands before it: a file that does not end in one was cut. `lastTime`: of the last event, where there is one. */
  readonly trailer: (trailer: ExportTrailer, lastTime: string | undefined) => string
}

export interface ExportFormat {
  readonly contentType: string
  readonly extension: string
  /** What is written of an event depends on no other event: ranges of a log may be written side by side. */
  readonly isByEvent: boolean
  readonly open: (scope: ExportScope) => FormatWriter
}

/** What lies beyond the pinned log has no leaf there. */
export function leafWithin(size: number, leafOf: (eventId: string) => number | undefined): ExportScope['leafIndex'] {
  if (size === 0) return () => undefined
  return (eventId) => {
    const index = leafOf(eventId)
    return index !== undefined && index < size ? index : undefined
  }
}

/** A member of a body, where it is a text. */
export function textOf(data: LedgerEvent['data'], name: string): string | undefined {
  const value = data[name]
  return typeof value === 'string' ? value : undefined
}
