/** @module Entry of a thread that reads: a connection of its own to the store's file, read-only, and the keys that check what it reads. */
import { getHeapStatistics } from 'node:v8'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { Sealer } from '../ledger/identity/sealer.ts'
import { BodyReader } from '../reading/body-reader.ts'
import type { FromReader, ToReader } from '../reading/protocol.ts'
import type { ReaderSources } from '../reading/reader-pages.ts'
import { threadGivesWay } from '../resources/give-way.ts'
import { WorkQueue } from '../resources/work-queue.ts'
import type { KeyPlace } from '../settings/places.ts'
import { reasonOf } from '../settings/reason-of.ts'
import { AuditSnapshots } from '../store/sqlite/audit-snapshots.ts'
import { sharedLeaves } from '../store/sqlite/sqlite-leaves.ts'
import { openSqliteReader } from '../store/sqlite/sqlite-reader.ts'
import { keysAt } from './worker-parts.ts'

export interface ReaderPlaces {
  /** File of the store. */
  readonly store: string
  readonly keys: KeyPlace
  /** The file of the logs. */
  readonly logs: string
  /** That of the auditors' index. */
  readonly audit: string
  /** Nobody serves the store beside it: it takes what the machine has. */
  readonly isAlone?: boolean
}

const MEMORY_EVERY_MS = 1_000

async function serve(
  port: MessagePort,
  { store: path, keys: keyPlace, logs, audit, isAlone = false }: ReaderPlaces,
): Promise<void> {
  if (!isAlone) threadGivesWay()
  const keys = keysAt(keyPlace)
  const store = openSqliteReader({ path })
  const sealer = new Sealer(keys)
  const say = (message: FromReader, handedOver: readonly ArrayBuffer[] = []): void =>
    port.postMessage(message, handedOver)
  sealer.onFault((fault) => say({ kind: 'fault', fault }))
  const leaves = sharedLeaves(logs)
  const snapshots = new AuditSnapshots(audit)
  const readIndex: ReaderSources['readIndex'] = (owner, read) => snapshots.read(owner, read)
  const reader = new BodyReader({ store, sealer, openLeaves: leaves.open, readIndex, work: new WorkQueue(), say })
  const tellMemory = setInterval(
    () => say({ kind: 'memory', heapBytes: getHeapStatistics().used_heap_size }),
    MEMORY_EVERY_MS,
  )
  port.on('message', (message: ToReader) => {
    if (message.kind !== 'end') return void reader.receive(message)
    clearInterval(tellMemory)
    keys[Symbol.dispose]()
    snapshots[Symbol.dispose]()
    leaves[Symbol.dispose]()
    store[Symbol.dispose]()
    // After the last word of this turn.
    setImmediate(() => port.close())
  })
  say({ kind: 'ready' })
}

const port = parentPort
if (port === null) throw new Error('readers run in a worker thread')
try {
  await serve(port, workerData as ReaderPlaces)
} catch (error) {
  const message = reasonOf(error)
  port.postMessage({ kind: 'open-failed', message } satisfies FromReader)
  port.close()
}
