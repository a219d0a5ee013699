/** @module Rules of redaction made ready: places as tokens, patterns as machines that take time linear in the text. */
import { parsePointer } from '../../../schemas/json-pointer.ts'
import type { Keep, RedactionDetector, RedactionInForce } from '../../../schemas/redaction.ts'
import { compilePattern, type LinearPattern } from '../json-schema/linear-pattern.ts'
import { type Work, WorkExhausted } from '../json-schema/work.ts'

export interface CompiledRule {
  readonly name: string
  /** Where it stands among the rules: of two that find the same text, the first counts. */
  readonly order: number
  /** Absent: everywhere. */
  readonly places: readonly (readonly string[])[] | undefined
  readonly find: readonly RedactionDetector[]
  readonly pattern: LinearPattern | undefined
  readonly comparable: boolean
  /** What it names is encrypted, and not dropped. */
  readonly keep: Keep | undefined
}

export type CompiledRules =
  | { readonly ok: true; readonly rules: readonly CompiledRule[] }
  /** `index`: of the rule whose pattern is not accepted. */
  | { readonly ok: false; readonly index: number; readonly message: string }

/** Of all patterns together: some 20,000 states. */
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

/** Whether it looks into texts; else whatever lies at its places is left out. */
export function searches({ find, pattern }: CompiledRule): boolean {
  return find.length > 0 || pattern !== undefined
}
