/**
 * @module One store in memory as several ledger processes see it over a bad network: appends and answers come late, get lost or are
 * refused, reads fail half-way, and what a killed process had sent may still arrive.
 */
import {
  type Append,
  type AppendResult,
  type EventStore,
  type ReadRecord,
  type RecordPages,
  StoreUnavailableError,
} from '../../../src/store/event-store.ts'
import { wrapStore } from '../wrap-store.ts'
import type { Scheduler } from './scheduler.ts'

export interface Troubles {
  /** Share of appends and reads that go wrong, 0 to 1. */
  rate: number
  /** Share of appends that are acknowledged and not written: what no store may do, for a simulation that must fail. */
  readonly lies: number
}

/** A process's connection to the store. */
export interface StoreLink {
  readonly store: EventStore
  /** The process is gone: it hears nothing any more, and what it sent arrives or not. */
  cut(): void
}

const never = new Promise<never>(() => undefined)

export function linkTo(store: EventStore, world: Scheduler, troubles: Troubles): StoreLink {
  let isCut = false
  let line: Promise<unknown> = Promise.resolve()
  const delivered = <T>(answer: T): T | Promise<never> => (isCut ? never : answer)

  const applied = async (append: Append): Promise<AppendResult> => {
    await world.turns(4)
    if (isCut && world.chance(0.5)) return never
    if (world.chance(troubles.lies))
      return { kind: 'appended', revision: append.expectedRevision + append.records.length, position: '1' }
    if (!world.chance(troubles.rate)) return store.append(append)
    switch (world.below(4)) {
      case 0:
        return { kind: 'full', detail: 'simulated' }
      case 1:
        return { kind: 'unavailable', detail: 'simulated', retryAfterMs: 10 }
      case 2:
        await store.append(append)
        return { kind: 'unknown', detail: 'simulated, written' }
      default:
        return { kind: 'unknown', detail: 'simulated, not written' }
    }
  }

  const read = async <T>(answer: () => Promise<T>): Promise<T> => {
    await world.turns(3)
    if (world.chance(troubles.rate)) throw new StoreUnavailableError('simulated', 10)
    return delivered(await answer())
  }

  async function* pages(from: RecordPages): AsyncGenerator<readonly ReadRecord[]> {
    for await (const page of from) yield await read(async () => page)
  }

  return {
    cut: () => {
      isCut = true
    },
    store: wrapStore(store, {
      append: async (append: Append) => {
        const result = line.then(() => applied(append))
        line = result
        const answer = await result
        await world.turns(4)
        return delivered(answer)
      },
      head: (stream: string) => read(() => store.head(stream)),
      findRequest: (stream: string, id: string) => read(() => store.findRequest(stream, id)),
      readStream: (...asked: Parameters<EventStore['readStream']>) => pages(store.readStream(...asked)),
    }),
  }
}
