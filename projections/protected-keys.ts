/** @module Which top-level keys of a context a policy protects. Rule set 2; recorded runs are folded by it. */
import type { ResolvedPolicy } from '../schemas/policy.ts'

export type ProtectionPolicy = Pick<ResolvedPolicy, 'criticalKeys'> &
  Partial<Pick<ResolvedPolicy, 'rules' | 'protect' | 'free'>>

/** Under rule set 1 the critical keys; under 2 all, or those that are named, less those that are free. */
export function protectedBy({
  rules,
  criticalKeys,
  protect = '*',
  free = [],
}: ProtectionPolicy): (key: string) => boolean {
  if (rules === undefined || rules === 1) return (key) => criticalKeys.includes(key)
  const named = protect === '*' ? undefined : new Set([...protect, ...criticalKeys])
  const freeWords = foldedKeys(free)
  return (key) => {
    if (criticalKeys.includes(key)) return true
    return named === undefined ? !freeWords.has(foldFreeKey(key)) : named.has(key)
  }
}

/** A policy lives as long as its run: its list is folded once. */
const folded = new WeakMap<readonly string[], ReadonlySet<string>>()

function foldedKeys(free: readonly string[]): ReadonlySet<string> {
  const known = folded.get(free)
  if (known !== undefined) return known
  const words = new Set(free.map(foldFreeKey))
  folded.set(free, words)
  return words
}

const PLAIN = /^[a-z]+$/

/** `nextStep`, `next_step` and `Next-Step` are one word to whoever names a free key. */
function foldFreeKey(key: string): string {
  return PLAIN.test(key) ? key : key.toLowerCase().replace(/[\s_-]+/g, '')
}
