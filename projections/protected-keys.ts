/** @module Which top-level keys of a context a policy protects; recorded runs are folded by it. */
import type { ResolvedPolicy } from '../schemas/policy.ts'

export type ProtectionPolicy = Pick<ResolvedPolicy, 'criticalKeys'> &
  Partial<Pick<ResolvedPolicy, 'rules' | 'protect' | 'free' | 'prose'>>

/** A policy lives as long as its run, and is asked about the same keys again and again. */
const known = new WeakMap<ProtectionPolicy, (key: string) => boolean>()
/** Answers kept for one policy, and the longest key that one is kept for. */
const ANSWERS_MAX = 1024
const KEY_MAX_CHARS = 64

/** All, or those that are named, less those that are free; under base relay, and in the record of release 0.1.0, the critical keys. */
export function protectedBy(policy: ProtectionPolicy): (key: string) => boolean {
  const made = known.get(policy)
  if (made !== undefined) return made
  const isProtected = remembering(rulesOf(policy))
  known.set(policy, isProtected)
  return isProtected
}

function rulesOf({
  rules,
  criticalKeys,
  protect = '*',
  free = [],
  prose = [],
}: ProtectionPolicy): (key: string) => boolean {
  const critical = new Set(criticalKeys)
  if (rules === undefined) return (key) => critical.has(key)
  const named = protect === '*' ? undefined : new Set(protect)
  const freeWords = new Set([...free, ...prose].map(foldFreeKey))
  return (key) => {
    if (critical.has(key)) return true
    return named === undefined ? !freeWords.has(foldFreeKey(key)) : named.has(key)
  }
}

/** Whether a key that is not protected holds prose: its texts are free, its data is not. */
export function proseBy({ free = [], prose = [] }: ProtectionPolicy): (key: string) => boolean {
  const [freeWords, proseWords] = [free, prose].map((keys) => new Set(keys.map(foldFreeKey)))
  return (key) => {
    const folded = foldFreeKey(key)
    return proseWords?.has(folded) === true && freeWords?.has(folded) !== true
  }
}

function remembering(decide: (key: string) => boolean): (key: string) => boolean {
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

/** `nextStep`, `next_step` and `Next-Step` are one word to whoever names a free key. */
function foldFreeKey(key: string): string {
  return PLAIN.test(key) ? key : key.toLowerCase().replace(/[\s_-]+/g, '')
}
