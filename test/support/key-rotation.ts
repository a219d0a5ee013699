/** @module A rotation of the key ring, waited for until the ledger seals with the new key. */
import { type KeyObject, randomBytes } from 'node:crypto'
import { signSuccession } from '../../src/merkle/key-succession.ts'
import { rotateKeyRing } from '../../src/signing/key-ring.ts'
import { type LedgerKeys, rotateLogKey } from '../../src/signing/ledger-keys.ts'
import type { TestLedger } from './test-ledger.ts'
import { eventually } from './within.ts'

/** The same keys with a new one that seals from then on. */
export function rotated(of: LedgerKeys, atMs = Date.now()): LedgerKeys {
  return { ...of, ring: rotateKeyRing(of.ring, new Date(atMs).toISOString(), randomBytes) }
}

/** The same keys with a new one that signs the logs of a ledger of this origin. */
export function rotatedLogKey(of: LedgerKeys, origin: string, atMs = Date.now()): LedgerKeys {
  const now = new Date(atMs).toISOString()
  const succession = (from: KeyObject, to: KeyObject): string => signSuccession({ origin, from, to, time: now })
  return rotateLogKey(of, { now, random: randomBytes, succession })
}

/** The new key is announced behind the caller's back, and seals what comes after. Gives its id. */
export async function rotate({ keys, clock, rotatedTo }: TestLedger): Promise<string> {
  keys.replace(rotated(keys.current(), clock.nowMs))
  const kid = keys.current().ring.keys.at(-1)?.kid ?? ''
  await eventually(() => (rotatedTo.includes(kid) ? true : undefined), `sealing with ${kid}`)
  return kid
}
