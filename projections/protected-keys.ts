/** @module Decides which top-level keys of a context a policy protects. Recorded runs are folded with it. */
import type { ResolvedPolicy } from '../schemas/policy.ts'

export type ProtectionPolicy = Pick<ResolvedPolicy, 'criticalKeys'> &
  Partial<Pick<ResolvedPolicy, 'rules' | 'protect' | 'free' | 'prose'>>

type IsKey = (key: string) => boolean

/** Cached by policy, which lives as long as its run and is asked about the same keys repeatedly. */
const [knownProtected, knownProse] = [new WeakMap<ProtectionPolicy, IsKey>(), new WeakMap<ProtectionPolicy, IsKey>()]
/** Maximum number of cached answers per policy, and maximum length of a cached key. */
const ANSWERS_MAX = 1024
const KEY_MAX_CHARS = 64

/** All keys except the free ones, or only the named keys; critical keys always. Under base relay, and in records of release 0.1.0, only the critical keys. */
export function protectedBy(policy: ProtectionPolicy): IsKey {
  return cached(knownProtected, policy, rulesOf)
}

function rulesOf({ rules, criticalKeys, protect = '*', free = [], prose = [] }: ProtectionPolicy): IsKey {
  const critical = new Set(criticalKeys)
  if (rules === undefined) return (key) => critical.has(key)
  const named = protect === '*' ? undefined : new Set(protect)
  const freeWords = new Set([...free, ...prose].map(foldFreeKey))
  return (key) => {
    if (critical.has(key)) return true
    return named === undefined ? !freeWords.has(foldFreeKey(key)) : named.has(key)
  }
}

/** Whether an unprotected key holds prose, whose texts are free while its data is not. */
export function proseBy(policy: ProtectionPolicy): IsKey {
  return cached(knownProse, policy, proseOf)
}

function proseOf({ free = [], prose = [] }: ProtectionPolicy): IsKey {
  const [freeWords, proseWords] = [free, prose].map((keys) => new Set(keys.map(foldFreeKey)))
  return (key) => {
    const folded = foldFreeKey(key)
    return proseWords?.has(folded) === true && freeWords?.has(folded) !== true
  }
}

function cached(
  known: WeakMap<ProtectionPolicy, IsKey>,
  policy: ProtectionPolicy,
  make: (policy: ProtectionPolicy) => IsKey,
): IsKey {
  const made = known.get(policy)
  if (made !== undefined) return made
  const isKey = remembering(make(policy))
  known.set(policy, isKey)
  return isKey
}

function remembering(decide: IsKey): IsKey {
  const answers = new Map<string, boolean>()
  return (key) => {
    const answered = answers.get(key)
    if (answered !== undefined) return answered
    const answer = decide(key)
    if (answers.size < ANSWERS_MAX && key.length <= KEY_MAX_CHARS) answers.set(key, answer)
    return answer
  }
}

const PLAIN = /^[a-z]+$/

/** `nextStep`, `next_step` and `Next-Step` count as the same free key. */
function foldFreeKey(key: string): string {
  return PLAIN.test(key) ? key : key.toLowerCase().replace(/[\s_-]+/g, '')
}
