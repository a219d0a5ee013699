/**
 * @module Checks of archived bodies (LIFE-55): each event whose body was moved out of the store must be of a run, and of a part of it, that a sealed
 * `RunsArchived` of the same tenant names for that archive. The bodies themselves are checked like all others, against the digests in their headers.
 */
import { EVENTS } from '../../schemas/events.ts'
import { parseJsonOrUndefined } from '../../schemas/json.ts'
import { ledgerStream, parseStream } from '../../schemas/names.ts'
import { isArchivable, streamTenant } from '../signing/stream-tenant.ts'
import type { VerifyFault } from './fault.ts'
import type { PlacedRecord } from './source-item.ts'

const LISTED_MAX = 100

/** A recorded archive. */
export interface RecordedArchive {
  readonly archive: string
  readonly tenant: string
  readonly digest: string
  readonly bytes: number
}

/** What is in the file of an archive now. `missing`: it is not there, or cannot be read. */
export type FoundArchive = { readonly digest: string; readonly bytes: number } | 'missing'

/** Reads the whole file of an archive. */
export type FindArchive = (archive: string) => Promise<FoundArchive>

interface Recorded extends RecordedArchive {
  /** For each run, the number of its first events that are in the archive. */
  readonly runs: ReadonlyMap<string, number>
  /** Digests of the large values in it. */
  readonly values: ReadonlySet<string>
}

interface Seen {
  events: number
  /** Number of events whose body could not be read. */
  unread: number
  last: number
}

export class ArchiveChecks {
  readonly #recorded = new Map<string, Recorded>()
  /** By archive and stream. */
  readonly #seen = new Map<string, Map<string, Seen>>()
  /** By tenant, the number of events of its ledger stream that are acknowledged as lost: each may have been the record of an archive. */
  readonly #lost = new Map<string, number>()

  /** Takes an event whose seal is valid, or cannot be checked because there are no keys. */
  takeRecord(
    type: string,
    { tenant, stream }: { readonly tenant: string; readonly stream: string },
    data: string,
  ): void {
    if (type !== 'RunsArchived' || stream !== ledgerStream(tenant)) return
    const body = EVENTS.RunsArchived.schema.safeParse(parseJsonOrUndefined(data)).data
    // Of two records of one name the first counts: what was moved before the second is not in it.
    if (body === undefined || this.#recorded.has(body.archive)) return
    const { archive, digest, bytes } = body
    const runs = new Map(body.runs.map(({ run, events }) => [run, events]))
    this.#recorded.set(archive, { archive, tenant, digest, bytes, runs, values: new Set(body.values) })
  }

  /** Takes an event of the ledger stream of the tenant that is acknowledged as lost. */
  takeLost(tenant: string): void {
    this.#lost.set(tenant, (this.#lost.get(tenant) ?? 0) + 1)
  }

  /** Takes an event whose body is in an archive. */
  takeMoved({ archive, stream, revision }: Pick<PlacedRecord, 'archive' | 'stream' | 'revision'>): void {
    if (archive === undefined) return
    const streams = this.#seen.get(archive.name) ?? new Map<string, Seen>()
    this.#seen.set(archive.name, streams)
    const seen = streams.get(stream) ?? { events: 0, unread: 0, last: -1 }
    streams.set(stream, seen)
    seen.events += 1
    if (!archive.exists) seen.unread += 1
    seen.last = Math.max(seen.last, revision)
  }

  /** `find` is absent if only the events are to be judged, as in a source that has no archives beside it. */
  async finish(find: FindArchive | undefined): Promise<{
    /** Number of events whose bodies are in each archive. */
    readonly archived: readonly { readonly archive: string; readonly events: number }[]
    readonly faults: readonly VerifyFault[]
  }> {
    const [forged, altered, away]: [VerifyFault[], VerifyFault[], VerifyFault[]] = [[], [], []]
    const archived: { archive: string; events: number }[] = []
    for (const [archive, streams] of this.#seen) {
      const recorded = this.#recorded.get(archive)
      const isRecordLost = recorded === undefined && this.#isRecordLost(streams)
      for (const [stream, seen] of streams)
        if (!isRecordLost && !isNamed(recorded, stream, seen)) forged.push(unrecorded(archive, stream))
      const events = sumOf(streams, (seen) => seen.events)
      if (recorded !== undefined || isRecordLost) archived.push({ archive, events })
      if (isRecordLost) away.push(recordLost(archive))
      // An archive in which no row of this store has its body proves nothing here, as in a copy, which has all bodies itself.
      const found = recorded && (await find?.(archive))
      const unread = found === 'missing' ? events : sumOf(streams, (seen) => seen.unread)
      if (unread > 0) away.push(missing(archive, unread))
      if (recorded === undefined || found === undefined || found === 'missing') continue
      const isSame = found.digest === recorded.digest && found.bytes === recorded.bytes
      if (!isSame) altered.push(damaged(archive, found.bytes, recorded.bytes))
    }
    // Many archives that are elsewhere must not hide one that was altered.
    return { archived, faults: [...forged, ...altered, ...away].slice(0, LISTED_MAX) }
  }

  /** Whether a lost event may have recorded the archive in which these streams are; each one counts for one archive. */
  #isRecordLost(streams: ReadonlyMap<string, Seen>): boolean {
    const names = [...streams.keys()]
    const [tenant = '', ...others] = new Set(names.map(streamTenant))
    const lost = this.#lost.get(tenant) ?? 0
    if (lost === 0 || others.length > 0 || !names.every(isArchivable)) return false
    this.#lost.set(tenant, lost - 1)
    return true
  }
}

function isNamed(recorded: Recorded | undefined, stream: string, { last }: Seen): boolean {
  const name = parseStream(stream)
  if (recorded === undefined || name === undefined || name.tenant !== recorded.tenant) return false
  if (name.kind === 'value') return recorded.values.has(`sha256:${stream.slice(stream.lastIndexOf('.') + 1)}`)
  return name.kind === 'run' && last < (recorded.runs.get(name.runId ?? '') ?? 0)
}

function sumOf(streams: ReadonlyMap<string, Seen>, of: (seen: Seen) => number): number {
  let sum = 0
  for (const seen of streams.values()) sum += of(seen)
  return sum
}

function unrecorded(archive: string, stream: string): VerifyFault {
  const message = `the row of an event says that its body is in the archive ${archive}, and no recorded archive names it: somebody took bodies out of the store`
  return { code: 'archive-unrecorded', message, stream }
}

function recordLost(archive: string): VerifyFault {
  const message = `no recorded archive is called ${archive}, and an event of the ledger that may have recorded it is acknowledged as lost: its bodies are held against their seals, and the file against nothing`
  return { code: 'archive-record-lost', message }
}

function missing(archive: string, events: number): VerifyFault {
  const message = `the archive ${archive}.jsonl, which has the bodies of ${events} events, is not in the folder of the archives, or cannot be read: put it back there`
  return { code: 'archive-missing', message }
}

function damaged(archive: string, found: number, recorded: number): VerifyFault {
  const message = `the archive ${archive}.jsonl has ${found} bytes, and is not the file that was recorded, of ${recorded} bytes: put back a copy of it`
  return { code: 'archive-damaged', message }
}
