/** @module Shared code of the worker programs other than the thread that writes the store. */
import { fixedKeys, requireKeys, type WatchedKeys, watchKeyFile } from '../settings/key-source.ts'
import type { KeyPlace } from '../settings/places.ts'

export function keysAt(place: KeyPlace): WatchedKeys {
  const keys = requireKeys(place)
  if (place.kind === 'text') return fixedKeys(keys)
  // A key file that cannot be read is reported by the thread that seals with it.
  return watchKeyFile({ place, keys, onError: () => undefined })
}
