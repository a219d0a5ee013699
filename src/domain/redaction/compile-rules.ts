/** @module Compiles redaction rules: places to tokens, patterns to machines that run in time linear in the text. */
import { parsePointer } from '../../../schemas/json-pointer.ts'
import type { Keep, RedactionDetector, RedactionInForce } from '../../../schemas/redaction.ts'
import { compilePattern, type LinearPattern } from '../json-schema/linear-pattern.ts'
import { type Work, WorkExhausted } from '../json-schema/work.ts'

export interface CompiledRule {
  readonly name: string
  /** Index among the rules: if two rules find the same text, the first one counts. */
  readonly order: number
  /** Undefined: the rule applies everywhere. */
  readonly places: readonly (readonly string[])[] | undefined
  readonly find: readonly RedactionDetector[]
  readonly pattern: LinearPattern | undefined
  readonly comparable: boolean
  /** If set, matched values are encrypted instead of dropped. */
  readonly keep: Keep | undefined
}

export type CompiledRules =
  | { readonly ok: true; readonly rules: readonly CompiledRule[] }
  /** `index` is that of the rule whose pattern is not accepted. */
  | { readonly ok: false; readonly index: number; readonly message: string }

/** Maximum compilation steps of all patterns together: about 20,000 states. */
const COMPILE_STEPS_MAX = 600_000
const TOO_MUCH = 'the patterns of all rules together take too much work'

const known = new WeakMap<RedactionInForce, CompiledRules>()

export function compileRules(declared: RedactionInForce): CompiledRules {
  const before = known.get(declared)
  if (before !== undefined) return before
  const compiled = compile(declared)
  known.set(declared, compiled)
  return compiled
}

function compile(declared: RedactionInForce): CompiledRules {
  const work: Work = { stepsLeft: COMPILE_STEPS_MAX }
  const rules: CompiledRule[] = []
  for (const [order, { name, at, find = [], pattern, comparable = false, keep }] of declared.entries()) {
    try {
      const machine = pattern === undefined ? undefined : compilePattern(pattern, work)
      const places = at?.map((place) => parsePointer(place) ?? [])
      rules.push({ name, order, places, find, pattern: machine, comparable, keep })
    } catch (error) {
      if (!(error instanceof SyntaxError) && !(error instanceof WorkExhausted)) throw error
      return { ok: false, index: order, message: error instanceof SyntaxError ? error.message : TOO_MUCH }
    }
  }
  return { ok: true, rules }
}

/** Whether the rule searches texts; otherwise it redacts the whole values at its places. */
export function searches({ find, pattern }: CompiledRule): boolean {
  return find.length > 0 || pattern !== undefined
}
