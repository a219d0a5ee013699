/**
 * @module A store that keeps the port's promises and no more: answers come late and out of order, get lost, or say that nothing was
 * written; other writers may come in between. Appends handed over in order are applied in order.
 */
import type { Append, AppendResult, EventStore } from '../../src/store/event-store.ts'
import { wrapStore } from './wrap-store.ts'

export interface Shakes {
  /** 0 up to 1. */
  readonly random: () => number
  /** Share of appends that go wrong, 0 to 1. */
  readonly rate: number
}

export interface ShakyStore extends EventStore {
  /** From now on nothing goes wrong any more. */
  calm(): void
  readonly troubles: Record<string, number>
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export function shakyStore(store: EventStore, { random, rate }: Shakes): ShakyStore {
  let calm = false
  let line: Promise<unknown> = Promise.resolve()
  const troubles: Record<string, number> = {}
  const turns = async (most: number): Promise<void> => {
    for (let left = Math.floor(random() * most); left > 0 && !calm; left -= 1) await turn()
  }

  const applied = async (append: Append): Promise<AppendResult> => {
    await turns(4)
    if (calm || random() >= rate) return store.append(append)
    const trouble = (['lost-written', 'lost', 'unavailable', 'full'] as const)[Math.floor(random() * 4)] ?? 'lost'
    troubles[trouble] = (troubles[trouble] ?? 0) + 1
    if (trouble === 'lost-written') await store.append(append)
    if (trouble === 'full') return { kind: 'full', detail: 'test' }
    if (trouble === 'unavailable') return { kind: 'unavailable', detail: 'test', retryAfterMs: 1 }
    return { kind: 'unknown', detail: 'test' }
  }

  return wrapStore(store, {
    troubles,
    calm: () => {
      calm = true
    },
    append: async (append: Append): Promise<AppendResult> => {
      const result = line.then(() => applied(append))
      line = result
      const answer = await result
      // The answer travels on its own: a later append may be answered before this one.
      await turns(6)
      return answer
    },
  })
}
