/**
 * @module Read-only access to a ledger on EventStoreDB, concurrent with the processes that serve it: for `verify`, `replay` and the like. The node is
 * contacted at the first read; if it does not answer, that read throws `StoreUnavailableError`.
 */
import type { RecordedEvent } from '@eventstore/db-client'
import type { ForgettingStream, ReadRecord, StoreReader } from '../event-store.ts'
import { readHalfOf } from '../read-only-store.ts'
import { scanAll } from './all-reads.ts'
import { Connection } from './connection.ts'
import { readConnectionUrl } from './connection-url.ts'
import { differingCopies } from './event-form.ts'
import { type EventStoreDbOptions, EventStoreDbStore } from './eventstoredb-store.ts'
import { LastPosition } from './last-position.ts'
import { forgettingAdvice } from './retention.ts'
import { RetentionCheck } from './retention-check.ts'
import { acquireClient } from './shared-client.ts'
import { DEFAULT_TIMINGS } from './timings.ts'

/** Throws `StoreOpenError` for a URL that cannot be used. */
export function openEventStoreDbReader({ url, canonical, timings }: EventStoreDbOptions): StoreReader {
  const { connection: target, shown } = readConnectionUrl(url)
  const connection = new Connection(acquireClient(target), { ...DEFAULT_TIMINGS, ...timings })
  return readHalfOf(new EventStoreDbStore(connection, { url: shown, canonical }))
}

/** A record without its position, whose gaps prove nothing; stream, revision and request id are the server's own, kept next to the header. */
export type ScannedEvent = Omit<ReadRecord, 'position'> & { readonly hasColumns: true }

/** A copy of a header field that differs from the header, or a stream whose events the server may drop or has dropped. */
export interface ServerFault {
  readonly fault: {
    readonly code: 'metadata-copy' | 'server-forgets'
    readonly message: string
    readonly stream: string
    readonly revision?: number
  }
}

export type ServerScanPage = readonly (ScannedEvent | ServerFault)[]

/** Yields every event of the ledger's streams for verification, with the faults that the server's data shows. Throws `StoreUnavailableError`. */
export async function* scanEventStoreDb(options: EventStoreDbOptions): AsyncGenerator<ServerScanPage, void> {
  const { url, canonical, timings } = options
  const connection = new Connection(acquireClient(readConnectionUrl(url).connection), {
    ...DEFAULT_TIMINGS,
    ...timings,
  })
  let faults: ServerFault[] = []
  const onEvent = (event: RecordedEvent): void => {
    const differing = differingCopies(event)
    if (differing.length > 0) faults.push(copyFault(event, differing))
  }
  try {
    for await (const { records } of scanAll(
      { connection, canonical, last: new LastPosition(connection), onEvent },
      {},
    )) {
      yield records.map(({ position: _, ...record }) => ({ ...record, hasColumns: true as const }))
      yield faults
      faults = []
    }
    // A scavenge may be running: what lets it remove events is searched for after the events were read.
    const retention = new RetentionCheck(connection)
    await retention.look()
    yield retention.forgetting.map(forgettingFault)
  } finally {
    connection.close()
    await connection.shared.release()
  }
}

function forgettingFault(forgetting: ForgettingStream): ServerFault {
  const { stream, why, loss } = forgetting
  const what = loss === 'limited' ? 'the server may forget events of it' : 'its events are deleted on the server'
  return { fault: { code: 'server-forgets', message: `${what} (${why}): ${forgettingAdvice([forgetting])}`, stream } }
}

function copyFault({ streamId, revision }: RecordedEvent, differing: readonly string[]): ServerFault {
  const message = `beside the header the server holds another ${differing.join(', ')}`
  return { fault: { code: 'metadata-copy', message, stream: streamId, revision: Number(revision) } }
}
