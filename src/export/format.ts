/** @module A line format of exports: a pure function from events in order to text, with a trailer in the format's own form. */
import type { ExportTrailer, PartHead } from '../../schemas/export-trailer.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'

export type { ExportTrailer }

/** The scope of an export, known before the first event. */
export interface ExportScope {
  readonly ledgerId: string
  readonly tenant: string
  /** The query that selects the events; absent for all events of a run or a tenant. */
  readonly filter?: JsonObject
  /** For a part of the tenant's log: the tree that it continues, and the time of the event before it in milliseconds, 0 if there is none. */
  readonly part?: PartHead & { readonly beforeMs: number }
  /** Index of an event's leaf in the tenant's log; undefined if it has none. */
  readonly leafIndex: (eventId: string) => number | undefined
}

/** Buffer for the text of a file. */
export interface FileText {
  add(text: string): void
  /** Adds a well-formed text as the content of a JSON string, without the quotes around it. */
  addEscaped(text: string): void
  /** Adds a well-formed text as the content of a quoted CSV cell, without the quotes around it. */
  addDoubled(text: string): void
}

/** One export in progress. The concatenated texts are the file; the same events yield the same bytes. */
export interface FormatWriter {
  /** Text before the first event. */
  readonly head: string
  /** May return an empty text: some formats wait for later events. */
  readonly event: (event: LedgerEvent) => string
  /** Like `event`, but writes directly to the buffer, for formats in which that is faster. */
  readonly write?: (event: LedgerEvent, file: FileText) => void
  /** For formats that wait for later events: takes an event from before a part, which is not written. */
  readonly before?: (event: LedgerEvent) => void
  /** Text of what is still open at the end. Empty in a part: it is written with the part in which it ends. */
  readonly rest: () => string
  /** Contains the count and digest of everything before it: a file without it was truncated. `lastTime`: time of the last event, if there is one. */
  readonly trailer: (trailer: ExportTrailer, lastTime: string | undefined) => string
}

export interface ExportFormat {
  readonly contentType: string
  readonly extension: string
  /** Whether the text of an event depends on no other event, so that ranges of a log can be written in parallel. */
  readonly isByEvent: boolean
  readonly open: (scope: ExportScope) => FormatWriter
}

/** An event beyond the pinned log has no leaf there. */
export function leafWithin(size: number, leafOf: (eventId: string) => number | undefined): ExportScope['leafIndex'] {
  if (size === 0) return () => undefined
  return (eventId) => {
    const index = leafOf(eventId)
    return index !== undefined && index < size ? index : undefined
  }
}

/** A member of a body if it is a string; otherwise undefined. */
export function textOf(data: LedgerEvent['data'], name: string): string | undefined {
  const value = data[name]
  return typeof value === 'string' ? value : undefined
}
