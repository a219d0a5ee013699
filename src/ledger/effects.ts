/** @module The effects of the real world. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { v7 as uuidV7 } from 'uuid'
import { createSaltPool } from '../signing/salt-pool.ts'
import type { Effects, Log } from './ports.ts'

export function realEffects(): Effects {
  const newSalt = createSaltPool(randomBytes)
  return {
    nowMs: Date.now,
    monotonicMs: () => performance.now(),
    // Random bytes from the pool: drawing 16 by themselves costs more than the rest of the id.
    newId: () => uuidV7({ random: newSalt() }),
    newSalt,
    random: Math.random,
    sleep: (ms) => sleep(ms),
  }
}

export const silentLog: Log = { info: () => {}, warn: () => {}, error: () => {} }
