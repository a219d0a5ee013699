/** @module How long an append waits behind the bodies of an archive, which the writer moves in one transaction. */
import { randomBytes } from 'node:crypto'
import { v7 as uuidV7 } from 'uuid'
import type { AppendRecord } from '../schemas/header.ts'
import type { EventStore } from '../src/store/event-store.ts'
import { openSqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import { type Bench, type BenchGroup, scaled } from './bench.ts'
import type { BenchOptions } from './options.ts'
import { median, Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'

/** An archive of the usual size, and one with a single long run, which is never divided. */
const KINDS = [
  { id: 'archive hold 20k', events: 20_000 },
  { id: 'archive hold 100k', events: 100_000 },
] as const
const APPEND_RECORDS = 1_000
/** Of a header and of a body each. */
const PART_BYTES = 600
/** Other runs should not notice an archive. */
const TARGET_MS = 1_000

export const archiveHold: BenchGroup = { name: 'an archive', ids: KINDS.map(({ id }) => id), open }

async function open(options: BenchOptions): Promise<Bench> {
  const samples = new Samples()
  return {
    round: async () => {
      for (const { id, events } of KINDS) samples.add(id, await waitMs(options, scaled(options, events)))
    },
    rows: () =>
      KINDS.map(({ id, events }) => ({
        id,
        what: `an append that comes while the bodies of ${events} events are moved to an archive`,
        unit: 'ms',
        numerator: median(samples.of(id)),
        bound: 'at-most' as const,
        target: TARGET_MS,
      })),
    [Symbol.asyncDispose]: async () => undefined,
  }
}

/** Of a store of its own, since no body is moved twice. The file of the archive is not read, and not made. */
async function waitMs(options: BenchOptions, events: number): Promise<number> {
  using folder = makeTempFolder(options.folder)
  await using store = await openSqliteStore({ path: folder.at('store.db') })
  for (let from = 0; from < events; from += APPEND_RECORDS)
    await append(store, { stream: 'run-bench.archived', from, count: Math.min(APPEND_RECORDS, events - from) })
  const bytes = 2 * PART_BYTES
  const rows = Array.from({ length: events }, (_, n) => ({ position: String(n + 1), offset: n * bytes, bytes }))
  const startMs = performance.now()
  const moving = store.moveBodies?.({ archive: 'bench-000001', rows })
  await append(store, { stream: 'run-bench.other', from: 0, count: 1 })
  const waited = performance.now() - startMs
  await moving
  return waited
}

interface Appended {
  readonly stream: string
  readonly from: number
  readonly count: number
}

async function append(store: EventStore, { stream, from, count }: Appended): Promise<void> {
  const records = Array.from({ length: count }, recordNow)
  const { kind } = await store.append({ stream, expectedRevision: from - 1, records })
  if (kind !== 'appended') throw new Error(`the append is ${kind}`)
}

function recordNow(): AppendRecord {
  const [id, type] = [uuidV7(), 'EnvelopeAccepted']
  const text = 'x'.repeat(PART_BYTES)
  return { id, type, header: JSON.stringify({ id, type, text }), salt: randomBytes(16), data: JSON.stringify({ text }) }
}
