/** @module What the programs of threads beside the one that writes the store have in common. */
import { fixedKeys, requireKeys, type WatchedKeys, watchKeyFile } from '../settings/key-source.ts'
import type { KeyPlace } from '../settings/places.ts'

export function keysAt(place: KeyPlace): WatchedKeys {
  const keys = requireKeys(place)
  if (place.kind === 'text') return fixedKeys(keys)
  // What cannot be read is reported by the thread that seals with it.
  return watchKeyFile({ path: place.path, keys, onError: () => undefined })
}
