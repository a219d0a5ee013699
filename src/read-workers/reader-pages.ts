/** @module Pages that a reader thread reads from its own store connection: in time slices, verified and parsed. */

import { ValueStored } from '../../schemas/events/value-stored.ts'
import { runStream, valueStream } from '../../schemas/names.ts'
import type { BundleHost, BundleReads, BundleRequest } from '../export/bundle/plan-bundle.ts'
import { proofFiles } from '../export/bundle/proof-files.ts'
import type { Sealer } from '../ledger/identity/sealer.ts'
import type { ReplayLine } from '../ledger/ledger.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import { leafRecords } from '../ledger/log/leaf-records.ts'
import { ledgerEvent } from '../ledger/read/parse-record.ts'
import { reportFaults } from '../ledger/read/record-seal.ts'
import { replayRecords } from '../ledger/read/replay.ts'
import type { Pace } from '../resources/work-queue.ts'
import type { ReadableIndex } from '../store/audit-index.ts'
import { type Position, type ReadRecord, type StoreReader, StoreUnavailableError } from '../store/event-store.ts'
import type { LeafReader } from '../store/log-store.ts'
import { pacedPages } from '../store/paced-pages.ts'
import type { IndexOwner } from '../store/sqlite/audit-snapshots.ts'
import type { ReplayRequest } from './replay-portions.ts'

/** Retry delay, in milliseconds, if the store lacks the pinned end because its file was replaced. */
const BEHIND_RETRY_MS = 5_000

export interface ReaderSources {
  readonly store: StoreReader
  readonly sealer: Sealer
  /** The current leaves of the logs; undefined if their file cannot be read. */
  readonly openLeaves: () => LeafReader | undefined
  /** Reads the audit index in the state that its owner vouches for. */
  readonly readIndex: <T>(owner: IndexOwner, read: (index: ReadableIndex) => Promise<T>) => Promise<T>
}

/** Throws `StoreUnavailableError` if the store ends before the pinned position. */
export async function requireReaches(store: StoreReader, until: Position): Promise<void> {
  const end = await store.end()
  if (end === undefined || store.comparePositions(end, until) < 0)
    throw new StoreUnavailableError('the store ends before what the export is pinned to', BEHIND_RETRY_MS)
}

/** Throws `StoreUnavailableError` if the log file cannot be read. */
export function leavesOf({ openLeaves }: Pick<ReaderSources, 'openLeaves'>): LeafReader {
  const leaves = openLeaves()
  if (leaves === undefined) throw new StoreUnavailableError('the file of the logs cannot be read', BEHIND_RETRY_MS)
  return leaves
}

/** The log file is opened by the first page or proof that needs it, and stays open, without a snapshot, until disposed. */
export function bundleReads(
  { store, openLeaves }: ReaderSources,
  { tenant, pin }: BundleRequest,
  pace: Pace,
): BundleReads & Pick<BundleHost, 'proofFiles'> & Disposable {
  let leaves: LeafReader | undefined
  const opened = (): LeafReader => {
    leaves ??= leavesOf({ openLeaves })
    return leaves
  }
  const events = async function* (
    pages: () => AsyncIterable<readonly ReadRecord[]>,
  ): AsyncGenerator<readonly LedgerEvent[], void> {
    await requireReaches(store, pin.until)
    for await (const page of pacedPages(pages(), pace)) yield page.map(ledgerEvent)
  }
  return {
    leaves: (size, lost) => events(() => leafRecords({ store, leaves: opened() }, { tenant, size, lost })),
    runEvents: (run, count) => events(() => store.readStream(runStream(tenant, run), { from: 0, to: count - 1 })),
    valueParts: async function* (digest) {
      for await (const page of events(() => store.readStream(valueStream(tenant, digest)))) {
        for (const { data } of page) {
          const body = ValueStored.schema.safeParse(data)
          if (body.success) yield body.data
        }
      }
    },
    proofFiles: async (ids) => {
      const proofFile = ids.length === 0 ? undefined : proofFiles(opened(), tenant, pin)
      const files: string[] = []
      for (const id of ids) {
        const wait = pace.turn()
        if (wait !== undefined) await wait
        files.push(proofFile?.(id) ?? '')
      }
      return files
    },
    [Symbol.dispose]: () => leaves?.[Symbol.dispose](),
  }
}

export function replayLines(
  { store, sealer }: ReaderSources,
  { tenant, run, to, losses }: ReplayRequest,
  pace: Pace,
): AsyncGenerator<ReplayLine> {
  const stream = runStream(tenant, run)
  const pages = pacedPages(store.readStream(stream, { to }), pace)
  const { ring, runKeys } = sealer
  return replayRecords(pages, stream, {
    ring,
    runKeys,
    losses,
    onFault: (record, faults) => reportFaults(sealer, record, faults),
  })
}
