/** @module Who holds leases, and whose death can be proved here: the last owner of a store that one process has to itself, and processes of this machine. */
import { randomUUID } from 'node:crypto'
import { isOfThisMachine, isProcessGone, ownProcess } from '../resources/process-identity.ts'
import type { Settings } from '../settings/config.ts'

/** This process, where it has a store to itself: by a name of its own, and by its name on this machine. */
export const STORE_OWNER = ['s', randomUUID(), ownProcess()].filter((part) => part !== undefined).join(':')
const PROCESS_PART = /^s:[^:]+:(p:.+)$/

/** One that was there a moment ago is not looked for again: lists ask about each call. */
const SEEN_MS = 50

/**
 * A store in a file has one owner at a time: whoever else held a lease as its owner is gone, or this process would not have it. One that only
 * closed the store may still carry out what it began: where it is a process of this machine, its end has to be seen.
 */
export function ownerCheck(
  { store }: Pick<Settings, 'store'>,
  /** Of this process, in whichever thread. */
  ownName = STORE_OWNER,
): (owner: string) => boolean {
  const isAlone = store.kind === 'sqlite'
  let seen = { owner: '', atMs: 0, gone: false }
  return (owner) => {
    if (owner.startsWith('s:')) {
      if (!isAlone || owner === ownName) return false
      const [, part] = PROCESS_PART.exec(owner) ?? []
      return part === undefined || !isOfThisMachine(part) || isProcessGone(part)
    }
    const nowMs = performance.now()
    if (seen.owner !== owner || nowMs - seen.atMs > SEEN_MS) seen = { owner, atMs: nowMs, gone: isProcessGone(owner) }
    return seen.gone
  }
}
