/** @module The effects of the real world: clocks, random values, ids and timers. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createIdSource } from '../signing/id-source.ts'
import { createSaltPool } from '../signing/salt-pool.ts'
import type { Effects, Log } from './ports.ts'

export function realEffects(): Effects {
  return {
    nowMs: Date.now,
    monotonicMs: () => performance.now(),
    newId: createIdSource(randomBytes, Date.now),
    newSalt: createSaltPool(randomBytes),
    random: Math.random,
    sleep: (ms) => sleep(ms),
  }
}

export const silentLog: Log = { info: () => {}, warn: () => {}, error: () => {} }
