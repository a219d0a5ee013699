/** @module Checks events that a ledger returns: an event with a broken seal, or one that does not continue its predecessor, is rejected. */
import type { JsonObject } from '../../../schemas/json.ts'
import { type KeptValues, withKept } from '../../../schemas/redacted-parts.ts'
import { LedgerError } from '../../client/errors.ts'
import type { RunEvent, TailedEvent } from './connection.ts'

interface ReadEvent {
  readonly header: {
    readonly type?: unknown
    readonly time?: unknown
    readonly prev?: unknown
    readonly revision?: unknown
  }
  readonly data: JsonObject
  readonly digest: string
  /** The ledger's own verdict on the seal. */
  readonly seal?: unknown
  /** The decrypted values of the event, as the ledger read them. */
  readonly kept?: KeptValues | undefined
}

/** Converts an event to the form that a tail returns. Each member is named: `data` and `digest` of an event in this process are accessors. */
export function tailedEvent({
  header,
  data,
  digest,
  seal,
  kept,
}: {
  readonly header: object
  readonly data: JsonObject
  readonly digest: string
  readonly seal?: 'valid' | 'invalid' | undefined
  readonly kept?: KeptValues | undefined
}): TailedEvent {
  const { id, stream, revision, type, time, actor } = header as JsonObject
  const runId = /^run-[^.]*\.(.*)$/.exec(String(stream))?.[1]
  return {
    eventId: String(id),
    ...(runId !== undefined && { runId }),
    ...{
      revision: Number(revision),
      type: String(type),
      time: String(time),
      actor: String(actor),
      data: readableData({ data, kept }),
      digest,
    },
    ...(seal !== undefined && { seal }),
  }
}

const REFUSED_STATUS = 409

/** All events of a run from the first, with the chain checked. Throws `LedgerError` (`stream-damaged`). */
export async function* linkedEvents(runId: string, events: AsyncIterable<ReadEvent>): AsyncGenerator<RunEvent, void> {
  let before: string | undefined
  for await (const event of events) {
    if (event.header.prev !== before) throw damaged(runId, event, 'does not continue the one before it')
    before = event.digest
    yield sealedEvent(runId, event)
  }
}

/** Some events of a run: only their seals can be checked. Throws like `linkedEvents`. */
export async function* sealedEvents(runId: string, events: AsyncIterable<ReadEvent>): AsyncGenerator<RunEvent, void> {
  for await (const event of events) yield sealedEvent(runId, event)
}

function sealedEvent(runId: string, event: ReadEvent): RunEvent {
  const { header, digest, seal } = event
  if (seal === 'invalid') throw damaged(runId, event, 'is not as it was sealed')
  return { type: String(header.type), time: String(header.time), data: readableData(event), digest }
}

function readableData({ data, kept }: Pick<ReadEvent, 'data' | 'kept'>): JsonObject {
  return kept === undefined ? data : withKept(data, kept)
}

function damaged(runId: string, { header }: ReadEvent, what: string): LedgerError {
  const detail = `event ${header.revision} of the run ${runId} ${what}: run "countersign verify"`
  return new LedgerError(REFUSED_STATUS, { code: 'stream-damaged', detail })
}
