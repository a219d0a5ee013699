/**
 * @module esdb: appends by the store's EventStoreDB adapter compared with the bare client's, of the same events to the same node, 64 streams at once. The node
 * is the tests' own, in a separate process: measured is the adapter's overhead over the client, not a server.
 */
import { EventStoreDBClient, jsonEvent, NO_STREAM as NEW_STREAM } from '@eventstore/db-client'
import { v7 as uuidV7 } from 'uuid'
import type { AppendRecord } from '../schemas/header.ts'
import type { JsonObject } from '../schemas/json.ts'
import { canonicalJson } from '../src/signing/canonical-json.ts'
import { type EventStore, NO_STREAM } from '../src/store/event-store.ts'
import { openEventStoreDbStore } from '../src/store/eventstoredb/eventstoredb-store.ts'
import { type Bench, type BenchGroup, directMs } from './bench.ts'
import { openLocalLedger, postEnvelopes, startRun } from './local-ledger.ts'
import type { BenchOptions } from './options.ts'
import { ratioRow } from './report.ts'
import { type ServerChild, startChild } from './server-child.ts'
import { Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'

export const STREAMS = 64
/** Short alternating slices, so that a pause of the garbage collector or of the machine affects both sides. */
const SLICES = 4

export const eventStoreDb: BenchGroup = { name: 'EventStoreDB adapter', ids: ['esdb'], open }

async function open(options: BenchOptions): Promise<Bench> {
  const templates = await sealedRecords(options)
  const node = await startChild('./eventstoredb-node-child.js', [])
  const store = await openEventStoreDbStore({ url: node.url, canonical: canonicalJson })
  const client = EventStoreDBClient.connectionString(node.url)
  const ways = { adapter: throughAdapter(store, templates), bare: byClient(client, templates) }
  const samples = new Samples()
  const sliceMs = directMs(options) / SLICES
  for (const append of Object.values(ways)) await perSecond(append, sliceMs)
  return {
    round: async () => {
      for (let slice = 0; slice < SLICES; slice += 1) {
        samples.add('adapter', await perSecond(ways.adapter, sliceMs))
        samples.add('bare', await perSecond(ways.bare, sliceMs))
      }
    },
    rows: () => [
      ratioRow(samples, {
        id: 'esdb',
        what: `appends to EventStoreDB by the adapter ÷ by the bare client, ${STREAMS} streams at once`,
        unit: 'appends/s',
        over: ['adapter', 'bare'],
        target: 0.8,
        note: 'both against the protocol node of the tests, which is no real server and shares this machine',
      }),
    ],
    [Symbol.asyncDispose]: () => close(store, client, node),
  }
}

async function close(store: EventStore, client: EventStoreDBClient, node: ServerChild): Promise<void> {
  await store[Symbol.asyncDispose]()
  await client.dispose()
  await node[Symbol.asyncDispose]()
}

/** Envelopes as sealed by a ledger. */
export async function sealedRecords(options: BenchOptions): Promise<readonly AppendRecord[]> {
  using folder = makeTempFolder(options.folder)
  await using local = await openLocalLedger(folder.at('data'))
  await startRun(local.ledger, 'template')
  await postEnvelopes(local.ledger, 'template', STREAMS)
  const records: AppendRecord[] = []
  for await (const page of local.store.readStream('run-default.template', { from: 1 })) {
    for (const { header, salt, data } of page) {
      const { id } = JSON.parse(header) as { id: string }
      records.push({ id, type: 'EnvelopeAccepted', header, salt, data })
    }
  }
  return records
}

/** Appends one event to the stream that expects this revision. Rejects if the event was not written. */
export type AppendOne = (stream: number, revision: number) => Promise<void>

export function throughAdapter(store: EventStore, templates: readonly AppendRecord[]): AppendOne {
  const run = uuidV7()
  return async (stream, revision) => {
    const template = templateOf(templates, revision)
    const id = uuidV7()
    // A store recognizes a repeated event by the id in its header.
    const records = [{ ...template, id, header: template.header.replace(template.id, id) }]
    const expectedRevision = revision === 0 ? NO_STREAM : revision - 1
    const result = await store.append({ stream: `run-default.${run}.${stream}`, expectedRevision, records })
    if (result.kind !== 'appended') throw new Error(`not appended: ${JSON.stringify(result)}`)
  }
}

/** Uses what the client expects: objects, which the client serializes. */
export function byClient(client: EventStoreDBClient, templates: readonly AppendRecord[]): AppendOne {
  const run = uuidV7()
  const events = templates.map(({ type, header, salt, data }) => ({
    type,
    data: JSON.parse(data) as JsonObject,
    metadata: {
      $correlationId: run,
      header: JSON.parse(header) as JsonObject,
      salt: Buffer.from(salt).toString('base64url'),
    },
  }))
  return async (stream, revision) => {
    const event = jsonEvent({ ...templateOf(events, revision), id: uuidV7() })
    const expectedRevision = revision === 0 ? NEW_STREAM : BigInt(revision - 1)
    await client.appendToStream(`run-default.${run}.${stream}`, event, { expectedRevision, requiresLeader: true })
  }
}

function templateOf<T>(templates: readonly T[], index: number): T {
  const template = templates[index % templates.length]
  if (template === undefined) throw new Error('there is nothing to append')
  return template
}

const revisions = new Map<AppendOne, number[]>()

/** Each stream waits for its append before it sends the next. */
export async function perSecond(append: AppendOne, milliseconds: number, streams = STREAMS): Promise<number> {
  const next = revisions.get(append) ?? Array.from({ length: STREAMS }, () => 0)
  revisions.set(append, next)
  const startedMs = performance.now()
  let count = 0
  const writers = next.slice(0, streams).map(async (_, stream) => {
    while (performance.now() - startedMs < milliseconds) {
      await append(stream, next[stream] ?? 0)
      next[stream] = (next[stream] ?? 0) + 1
      count += 1
    }
  })
  await Promise.all(writers)
  return (count * 1000) / (performance.now() - startedMs)
}
