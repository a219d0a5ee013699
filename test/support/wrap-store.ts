/** @module A store with some of its methods changed; the others are its own. */
import type { EventStore } from '../../src/store/event-store.ts'

export function wrapStore<Changes extends Partial<EventStore>>(
  store: EventStore,
  changes: Changes,
): EventStore & Changes {
  return new Proxy(store, {
    get: (target, key) => {
      if (Object.hasOwn(changes, key)) return Reflect.get(changes, key)
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
    set: (_, key, value) => Reflect.set(changes, key, value),
  }) as EventStore & Changes
}
