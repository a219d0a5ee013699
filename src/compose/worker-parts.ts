/** @module What the programs of threads beside the one that writes the store have in common. */
import { writeFileSync } from 'node:fs'
import { fixedKeys, requireKeys, type WatchedKeys, watchKeyFile } from '../settings/key-source.ts'
import type { KeyPlace } from '../settings/places.ts'

export function keysAt(place: KeyPlace): WatchedKeys {
  const keys = requireKeys(place)
  if (place.kind === 'text') return fixedKeys(keys)
  // What cannot be read is reported by the thread that seals with it.
  return watchKeyFile({ path: place.path, keys, onError: () => undefined })
}

/** As tools that list threads show it (`top -H`); on Linux alone. */
function nameThread(name: string): void {
  try {
    if (process.platform === 'linux') writeFileSync('/proc/thread-self/comm', name)
  } catch {
    // It works as well without.
  }
}
