/** @module Lowers the priority of a command that reads much of a store's file, so that it does not delay the ledger that serves the store. */
import { processGivesWay } from '../resources/give-way.ts'
import type { StorePlace } from '../settings/places.ts'
import { describeOwner } from '../store/sqlite/owner-lock.ts'
import { isOwnProcess } from './own-process.ts'

/** Without a serving ledger, with a store on a server, or among other work of its process, the priority is kept. */
export function giveWayToOwner(place: StorePlace): void {
  if (!isOwnProcess() || place.kind !== 'sqlite') return
  if (describeOwner(place.path) !== undefined) processGivesWay()
}
