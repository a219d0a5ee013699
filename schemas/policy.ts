/** @module A run's policy: as a request or a policy file gives it, and with every default filled in. */
import { z } from 'zod'
import { NAME_MAX_CHARS } from './names.ts'

/** Top-level keys of the context whose content stays established (JUD-1). */
export const DEFAULT_CRITICAL_KEYS: readonly string[] = ['entities', 'actions', 'facts', 'constraints', 'requirements']
/** A policy names at most so many critical keys. */
export const CRITICAL_KEYS_MAX = 64
export const SNAPSHOT_EVERY_MAX = 1000

const Base = z.enum(['default', 'relay'])
const Ungrounded = z.enum(['off', 'warn', 'reject'])
const CriticalKeys = z.array(z.string().min(1).max(NAME_MAX_CHARS)).max(CRITICAL_KEYS_MAX)
const SnapshotEvery = z.int().min(1).max(SNAPSHOT_EVERY_MAX)

export const PolicyObject = z.strictObject({
  base: Base.optional(),
  criticalKeys: CriticalKeys.optional(),
  ungrounded: Ungrounded.optional(),
  snapshotEvery: SnapshotEvery.optional(),
})

/** `"default"`, `"relay"`, or one of them with changes. */
export const Policy = z.union([Base, PolicyObject])

export const ResolvedPolicy = z.strictObject({
  base: Base,
  criticalKeys: z.array(z.string()).readonly(),
  ungrounded: Ungrounded,
  snapshotEvery: SnapshotEvery,
})

export type Policy = z.infer<typeof Policy>
export type ResolvedPolicy = z.infer<typeof ResolvedPolicy>

/** Fills in the defaults. `relay` leaves `ungrounded` off, since the library it follows knows no such rule. */
export function resolvePolicy(input: Policy = 'default'): ResolvedPolicy {
  const given = typeof input === 'string' ? { base: input } : input
  const base = given.base ?? 'default'
  return {
    base,
    criticalKeys: [...new Set(given.criticalKeys ?? DEFAULT_CRITICAL_KEYS)],
    ungrounded: given.ungrounded ?? (base === 'relay' ? 'off' : 'warn'),
    snapshotEvery: given.snapshotEvery ?? 1,
  }
}
