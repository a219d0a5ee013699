/** @module What the programs of threads beside the one that writes the store have in common. */
import { constants, setPriority } from 'node:os'
import { fixedKeys, requireKeys, type WatchedKeys, watchKeyFile } from '../settings/key-source.ts'
import type { KeyPlace } from '../settings/places.ts'

/** Whoever writes goes first where processors are few. On Linux a priority is a thread's; elsewhere it would be the whole process's. */
export function giveWay(): void {
  try {
    if (process.platform === 'linux') setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // It reads all the same.
  }
}

export function keysAt(place: KeyPlace): WatchedKeys {
  const keys = requireKeys(place)
  if (place.kind === 'text') return fixedKeys(keys)
  // What cannot be read is reported by the thread that seals with it.
  return watchKeyFile({ path: place.path, keys, onError: () => undefined })
}
