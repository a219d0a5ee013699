/** @module Entry of a thread that decides and seals: hot runs of its own, a read-only connection to the store's file, and the keys that seal. */
import { getHeapStatistics } from 'node:v8'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { realEffects } from '../ledger/effects.ts'
import { Sealer } from '../ledger/identity/sealer.ts'
import { writeSide } from '../ledger/write/write-side.ts'
import { MemoryBudget, SHARES_OF_RUNS } from '../resources/memory-budget.ts'
import { WorkQueue } from '../resources/work-queue.ts'
import type { FromSealer, SealerState, ToSealer } from '../sealing/protocol.ts'
import { SealKeeper } from '../sealing/seal-keeper.ts'
import type { SealerIdentity } from '../sealing/seal-threads.ts'
import { ThreadStore } from '../sealing/thread-store.ts'
import type { Settings } from '../settings/config.ts'
import type { KeyPlace } from '../settings/places.ts'
import { watchPolicies } from '../settings/policy-file.ts'
import { reasonOf } from '../settings/reason-of.ts'
import { takesReads } from '../store/event-store.ts'
import { viewsBesideOwner } from '../store/sqlite/sqlite-views.ts'
import { ownerCheck } from './lease-owner.ts'
import { keysAt, nameThread } from './worker-parts.ts'

export interface SealerPlaces {
  /** The store's file, and its name as people say it. */
  readonly store: { readonly path: string; readonly url: string; readonly maxAppendBytes: number }
  readonly keys: KeyPlace
  /** The file of the views, which holds folds of long runs. */
  readonly views: string
  readonly policy: string | undefined
  readonly values: Settings['values']
  /** This process, as leases name it. */
  readonly owner: string
  readonly memory: { readonly totalBytes: number; readonly parts: number }
}

const STATE_EVERY_MS = 500

type Say = (message: FromSealer) => void

function serve(port: MessagePort, places: SealerPlaces & { readonly identity: SealerIdentity }): void {
  const { identity, values, policy, owner } = places
  nameThread('sealer')
  const say: Say = (message) => port.postMessage(message)
  const keys = keysAt(places.keys)
  const memory = new MemoryBudget(places.memory.totalBytes, places.memory.parts)
  const sealer = new Sealer(keys, memory)
  sealer.sealWith(identity.kid)
  sealer.onFault((fault) => say({ kind: 'fault', fault }))
  const work = new WorkQueue()
  work.chargeTo((done) => say({ kind: 'worked', work: done }))
  const store = new ThreadStore({ ...places.store, say })
  const views = viewsBesideOwner({ path: places.views, renew: (reason) => say({ kind: 'renew-views', reason }) })
  const policies = policy === undefined ? undefined : watchPolicies(policy, { error: () => undefined })
  const { runs, queries, write } = writeSide({
    ...{ store, sealer, memory, work, values, ledgerId: identity.ledgerId, effects: realEffects() },
    views: {
      loadFold: (stream, projection) => views.file.loadFold(stream, projection),
      saveFold: (row) => say({ kind: 'save-fold', row }),
    },
    stats: {
      // Appends are counted where the store is.
      ...{ handedOver: () => undefined, settled: () => undefined },
      conflict: () => say({ kind: 'conflict' }),
      refused: (code) => say({ kind: 'refused', code }),
    },
    isOwnerGone: ownerCheck({ store: { kind: 'sqlite', path: places.store.path } }, owner),
    ...(policies && { tenantPolicy: (tenant) => policies.current()(tenant) }),
  })
  store.onStatus((status) => {
    if (!takesReads(status)) runs.clear()
  })
  const keeper = new SealKeeper({ write, queries, work, say })
  const telling = setInterval(() => say({ kind: 'state', state: stateOf(memory, runs.size) }), STATE_EVERY_MS)
  port.on('message', (message: ToSealer) => {
    if (message.kind === 'jobs') keeper.receive(message.jobs)
    else if (message.kind === 'appended') store.appended(message.id, message.results)
    else if (message.kind === 'store') store.heard(message.epoch, message.status)
    else if (message.kind === 'key') {
      sealer.reload()
      sealer.sealWith(message.kid)
    } else if (message.kind === 'views-renewed') views.renewed()
    else {
      clearInterval(telling)
      for (const part of [keys, policies, views.file]) part?.[Symbol.dispose]()
      void store[Symbol.asyncDispose]()
      // After the last word of this turn.
      setImmediate(() => port.close())
    }
  })
  say({ kind: 'ready' })
}

function stateOf(memory: MemoryBudget, hotRuns: number): SealerState {
  const used = memory.snapshot().filter(({ name }) => (SHARES_OF_RUNS as readonly string[]).includes(name))
  const usedBytes = Object.fromEntries(used.map(({ name, usedBytes: bytes }) => [name, bytes]))
  return { heapBytes: getHeapStatistics().used_heap_size, hotRuns, usedBytes }
}

const port = parentPort
if (port === null) throw new Error('what decides and seals beside the store runs in a worker thread')
try {
  serve(port, workerData as SealerPlaces & { readonly identity: SealerIdentity })
} catch (error) {
  port.postMessage({ kind: 'open-failed', message: reasonOf(error) } satisfies FromSealer)
  setImmediate(() => port.close())
}
