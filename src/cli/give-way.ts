/** @module Lowers the priority of a command that reads much of a store's file, so that it does not delay the ledger that serves the store. */
import { processGivesWay } from '../resources/give-way.ts'
import type { StorePlace } from '../settings/places.ts'
import { describeOwner } from '../store/sqlite/owner-lock.ts'

let hasOwnProcess = false

/** Called by the program; a process that runs commands among other work keeps its priority. */
export function runsInOwnProcess(): void {
  hasOwnProcess = true
}

/** Without a serving ledger, or with a store on a server, the priority is kept. */
export function giveWayToOwner(place: StorePlace): void {
  if (!hasOwnProcess || place.kind !== 'sqlite') return
  if (describeOwner(place.path) !== undefined) processGivesWay()
}
