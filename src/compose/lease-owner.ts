/** @module Names of lease owners, and the check that an owner is gone: an earlier owner of a store with one owner at a time, or a process of this machine. */
import { randomUUID } from 'node:crypto'
import { isOfThisMachine, isProcessGone, ownProcess } from '../resources/process-identity.ts'
import type { Settings } from '../settings/config.ts'

/** Owner name of this process for a store that it owns alone: a random id and the name of the process on this machine. */
export const STORE_OWNER = ['s', randomUUID(), ownProcess()].filter((part) => part !== undefined).join(':')
const PROCESS_PART = /^s:[^:]+:(p:.+)$/

/** Milliseconds that a result is cached, because lists ask about every call. */
const SEEN_MS = 50

/**
 * A store in a file has one owner at a time, so any other owner of a lease in it has lost the store. An owner that only closed the store may still be executing
 * the call: if it is a process of this machine, it must be seen to have exited.
 */
export function ownerCheck(
  { store }: Pick<Settings, 'store'>,
  /** The owner name of this process; the same in all its threads. */
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
