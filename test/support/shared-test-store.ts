/**
 * @module A store that many tests share. Before the first of them it is filled with other tenants' runs; while a test appends, a neighbour does too:
 * another ledger of the same identity, over connections of its own, that hands over in a tenant of its own.
 */

import { createLedger } from '../../src/ledger/create-ledger.ts'
import { realEffects } from '../../src/ledger/effects.ts'
import type { Command, Ledger } from '../../src/ledger/ledger.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import type { LedgerKeys } from '../../src/signing/ledger-keys.ts'
import type { EventStore } from '../../src/store/event-store.ts'
import { openEventStoreDbStore } from '../../src/store/eventstoredb/eventstoredb-store.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts'
import { openSqliteViews } from '../../src/store/sqlite/sqlite-views.ts'
import type { ViewStore } from '../../src/store/view-store.ts'
import { wrapStore } from './wrap-store.ts'

/** Of a neighbour beside one test, however much that appends. */
const HANDOVERS_MAX = 40
/** Events enough for several pages of every reading. */
const FILLED = { tenants: 6, runs: 7, handoffs: 7 }

interface PlaceOptions {
  readonly url: string
  readonly keys: LedgerKeys
  /** Of its logs. */
  readonly origin: string
  /** A name that no tenant on the store has. */
  readonly freshTenant: (name: string) => string
}

export function openPlace({ url }: SharedPlace): Promise<EventStore> {
  return url.startsWith('postgres')
    ? openPostgresStore({ url })
    : openEventStoreDbStore({ url, canonical: canonicalJson })
}

export interface SharedPlace extends PlaceOptions {
  /** What the neighbour has read of the store: it goes on from there when it is opened again. */
  readonly views: ViewStore
  /** Events that were appended, those of the neighbour while tests ran left out. */
  readonly events: () => number
  readonly count: (events: number) => void
}

/** The place with runs of other tenants in it, as a ledger records them. */
export async function filledPlace(options: PlaceOptions): Promise<SharedPlace> {
  let events = 0
  const count = (more: number): void => {
    events += more
  }
  const place = { ...options, views: openSqliteViews({ path: ':memory:' }), events: () => events, count }
  await using neighbour = await openNeighbour(place)
  const tenants = Array.from({ length: FILLED.tenants }, (_, at) => place.freshTenant(`filled-${at}`))
  const runs = Array.from({ length: FILLED.runs }, (_, at) => `r${at === 0 ? '' : at}`)
  await Promise.all(tenants.flatMap((tenant) => runs.map((run) => handOver(neighbour.ledger, { tenant, run }))))
  count(tenants.length * runs.length * (1 + FILLED.handoffs))
  return place
}

async function handOver(
  ledger: Ledger,
  { tenant, run }: { readonly tenant: string; readonly run: string },
): Promise<void> {
  await execute(ledger, tenant, run, { kind: 'start', body: { id: run, name: 'other' } })
  for (let step = 0; step < FILLED.handoffs; step += 1) {
    await execute(ledger, tenant, run, { kind: 'envelope', body: { agent: 'other', payload: { step } } })
  }
}

async function execute(ledger: Ledger, tenant: string, run: string, command: Command): Promise<void> {
  const outcome = await ledger.execute({ tenant, actor: 'neighbour' }, run, command, {})
  if (!outcome.ok) throw new Error(`the neighbour was refused: ${JSON.stringify(outcome.refusal)}`)
}

interface Neighbour extends AsyncDisposable {
  readonly ledger: Ledger
}

async function openNeighbour(place: SharedPlace): Promise<Neighbour> {
  const store = await openPlace(place)
  const keys = { current: () => place.keys, onChange: () => () => undefined }
  const ledger = await createLedger({ store, views: place.views, keys, effects: realEffects(), origin: place.origin })
  const close = async (): Promise<void> => {
    await ledger[Symbol.asyncDispose]()
    await store[Symbol.asyncDispose]()
  }
  return { ledger, [Symbol.asyncDispose]: close }
}

/**
 * The shared store for one test. With each append of the test the neighbour hands over once, unless it is at it still, and some dozens of times in all. Closing it waits for the
 * neighbour, and rejects where that was refused.
 */
export async function openBesideNeighbour(place: SharedPlace): Promise<EventStore> {
  const store = await openPlace(place)
  const tenant = place.freshTenant('neighbour')
  let opening: Promise<Neighbour> | undefined
  let writing: Promise<void> | undefined
  let failed: unknown
  let isClosing = false
  let handovers = 0
  const write = async (): Promise<void> => {
    const isFirst = opening === undefined
    opening ??= openNeighbour(place)
    const { ledger } = await opening
    if (isFirst) await execute(ledger, tenant, 'r', { kind: 'start', body: { id: 'r', name: 'neighbour' } })
    await execute(ledger, tenant, 'r', { kind: 'envelope', body: { agent: 'neighbour', payload: {} } })
  }
  return wrapStore(store, {
    append: (append) => {
      // A reading that was cut may be recorded while the store is closed already.
      if (!isClosing && writing === undefined && handovers < HANDOVERS_MAX) {
        handovers += 1
        writing = write()
          .catch((error: unknown) => {
            failed ??= error
          })
          .finally(() => {
            writing = undefined
          })
      }
      place.count(append.records.length)
      return store.append(append)
    },
    [Symbol.asyncDispose]: async () => {
      isClosing = true
      await writing
      await (await opening)?.[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
      if (failed !== undefined) throw failed
    },
  })
}
