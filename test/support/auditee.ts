/**
 * @module An auditee who holds all keys of a log: its history as one wants it, sealed and signed anew. What was handed out before, a
 * checkpoint, a witness's memory, a time-stamp, is all that such a one cannot change.
 */
import { createHash } from 'node:crypto'
import { leafHash } from '../../src/merkle/hashes.ts'
import { digestText } from '../../src/signing/digests.ts'
import type { BundlePredicate } from '../../src/verify/bundle/predicate.ts'
import { forgedBundle, recounted, streamHeadsOf, streamsLineOf } from './forged-bundle.ts'
import { checkpointOf, type Files, headerOf, type LogKey } from './forgery.ts'

export interface AuditeeEvent {
  readonly header: Record<string, unknown> & { readonly stream: string; readonly time: string; readonly type: string }
  readonly salt: string
  readonly data: unknown
}

export function eventsOf(lines: readonly string[]): readonly AuditeeEvent[] {
  return lines.map((line) => JSON.parse(line) as AuditeeEvent)
}

/** The lines of these events, each sealed for its place: revisions, links and digests follow from the events before. */
export function resealed(events: readonly AuditeeEvent[]): readonly string[] {
  const heads = new Map<string, { readonly revision: number; readonly prev: string }>()
  return events.map(({ header, salt, data }) => {
    const last = heads.get(header.stream)
    const text = JSON.stringify(data)
    const hash = createHash('sha256').update(Buffer.from(salt, 'base64url')).update(text).digest('hex')
    const { prev: _, ...rest } = header
    const places = { revision: (last?.revision ?? -1) + 1, dataDigest: `sha256:${hash}` }
    const sealed = JSON.stringify(inOrder({ ...rest, ...places, ...(last && { prev: last.prev }) }))
    heads.set(header.stream, { revision: places.revision, prev: digestText(leafHash(sealed)) })
    return `{"header":${sealed},"salt":"${salt}","data":${text}}\n`
  })
}

/** As canonical JSON has them. */
function inOrder(members: object): object {
  return Object.fromEntries(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)))
}

export interface History {
  /** Of a sound bundle of the same kind, whose verifier it brings along. */
  readonly base: Files
  readonly predicate: BundlePredicate
  readonly lines: readonly string[]
  readonly log: LogKey
  /** Instead of the checkpoint that these events make. */
  readonly note?: string
  readonly more?: Files
}

/** A checkpoint of these events, with the tree of their streams; or with that of others. */
export function checkpointOver(headers: readonly string[], log: LogKey, streams: readonly string[] = headers): string {
  return checkpointOf(headers, log, [streamsLineOf(streamHeadsOf(streams))])
}

/** The bundle with the whole log; of a query, `own` are the events that it asks for. */
export function bundleOfLog(
  { base, predicate, lines, log, note, more }: History,
  own: readonly string[] = lines,
): Files {
  const headers = lines.map(headerOf)
  const signed = note ?? checkpointOver(headers, log)
  const counted = recounted(predicate, headers, own)
  return forgedBundle(base, { headers, lines: own, predicate: counted, note: signed, ...(more && { more }) }, log)
}

/** The bundle of one run; `leftOut`: the header of an event of it that neither the bundle nor its tree of streams has, whatever the log has. */
export function bundleOfRun(history: History, run: string, leftOut?: string): Files {
  const { base, predicate, log, note, more } = history
  const headers = history.lines.map(headerOf)
  const lines = history.lines.filter((line) => headerOf(line) !== leftOut)
  const own = lines.filter((line) => headerOf(line).includes(`"stream":"run-${predicate.tenant}.${run}"`))
  const streams = lines.map(headerOf)
  const signed = note ?? checkpointOver(headers, log, streams)
  const counted = { ...recounted(predicate, headers, own), query: { run }, complete: { run } }
  const streamHeads = streamHeadsOf(streams)
  const forged = { headers, lines: own, predicate: counted, note: signed, streamHeads, ...(more && { more }) }
  return forgedBundle(base, forged, log)
}
