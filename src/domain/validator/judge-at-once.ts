/** @module Fast path for most handoffs: no protected value changed and nothing was added, so that no rule can apply. */
import { proseBy, protectedBy } from '../../../projections/protected-keys.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { declaresPlaces } from './established/place-rules.ts'
import { trunkOf } from './trunk.ts'
import type { HandoffInput, Verdict } from './validate.ts'

/** The verdict on a handoff, without the diff. */
export type Judgement = Omit<Verdict, 'diff'>

/** Handoffs with more keys are judged with pauses. */
const KEYS_MAX = 256
/** Keys below which every name and number is looked up in the evidence. */
const LOOKED_UP = ['entities', 'facts'] as const

/**
 * The verdict of `judgeHandoff`, if a look at each top-level key suffices: protected values are identical in memory, none was added, and
 * policy, manifest and agent require no other check. Undefined if the full judgement is needed.
 */
export function judgedAtOnce(input: HandoffInput): Judgement | undefined {
  if (asksForMore(input) || mayDisagree(input)) return undefined
  return isUntouched(input) ? { verdict: 'accept', confidence: 1, findings: [], findingsTotal: 0 } : undefined
}

function asksForMore({
  policy,
  supersedes,
  moves,
  writes,
  schema,
  tokens,
  maxTokens,
  evidence,
}: HandoffInput): boolean {
  if (policy.base === 'relay' || policy.invariants !== undefined) return true
  if (writes !== undefined || schema !== undefined) return true
  if ([supersedes, moves].some((each) => each !== undefined && each.length > 0)) return true
  if (tokens !== undefined && maxTokens !== undefined && tokens > maxTokens) return true
  if (policy.minConfidence !== undefined && policy.minConfidence > 1) return true
  return evidence !== undefined && evidence.results.waiting.length > 0
}

/** Whether tool results may affect the verdict. */
function mayDisagree({ before, after, policy, evidence }: HandoffInput): boolean {
  if (evidence === undefined || policy.ungrounded === 'off') return false
  const { failed, index } = evidence.results
  if (failed.size > 0 || index?.truncated === true) return true
  return LOOKED_UP.some((key) => Object.hasOwn(after, key) && before[key] !== after[key])
}

function isUntouched({ before, after, policy }: HandoffInput): boolean {
  const [isProtected, isProse] = [protectedBy(policy), proseBy(policy)]
  const keys = Object.keys(before)
  if (keys.length > KEYS_MAX || trunkOf(before, after, policy).length > 0) return false
  let isGuarded = false
  let common = 0
  for (const key of keys) {
    const hasKey = Object.hasOwn(after, key)
    if (hasKey) common += 1
    if (hasKey && isGuarded && before[key] === after[key]) continue
    if (!isProtected(key)) {
      if (before[key] !== after[key] && (isData(before[key]) || declaresPlaces(policy)) && isProse(key)) return false
      continue
    }
    if (!hasKey || before[key] !== after[key]) return false
    isGuarded = true
  }
  return isGuarded && common === countKeys(after)
}

const isData = (value: unknown): boolean => value !== null && typeof value !== 'string'

function countKeys(value: JsonObject): number {
  let count = 0
  for (const key in value) if (Object.hasOwn(value, key)) count += 1
  return count
}
