/** @module A command that reads much of a store's file gives way to the ledger that serves it, so that nobody who writes waits for it. */
import { processGivesWay } from '../resources/give-way.ts'
import type { StorePlace } from '../settings/places.ts'
import { describeOwner } from '../store/sqlite/owner-lock.ts'

let hasOwnProcess = false

/** Said by the program: a process that does other things beside its commands keeps its priority. */
export function runsInOwnProcess(): void {
  hasOwnProcess = true
}

/** Alone with the store, and beside one on a server, it takes what the machine has. */
export function giveWayToOwner(place: StorePlace): void {
  if (!hasOwnProcess || place.kind !== 'sqlite') return
  if (describeOwner(place.path) !== undefined) processGivesWay()
}
