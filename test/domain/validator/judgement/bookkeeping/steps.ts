/** @module Runs of 25 steps in ten trades: an agent that keeps what it was given and moves its own books along, as agents do. Each has spoilt twins. */
import type { Json, JsonObject } from '../../../../../schemas/json.ts'
import { parsePointer } from '../../../../../schemas/json-pointer.ts'
import type { Labelled } from '../confusion.ts'
import { TRADES } from './trades.ts'

export const STEPS = 25

export interface Trade {
  readonly name: string
  /** What was given: it does not move. */
  readonly given: JsonObject
  /** What the agent keeps of its own, at a step from 0 on. */
  readonly books: (step: number) => JsonObject
  /** What somebody would declare of the books. */
  readonly moves: readonly { readonly path: string; readonly as: string; readonly order?: readonly string[] }[]
  /** Places of what was given, each with another value. */
  readonly spoilt: readonly (readonly [path: string, value: Json])[]
  /** Places of the books, each with a value that breaks what is declared of it at any step from 3 on. */
  readonly broken: readonly (readonly [path: string, value: Json])[]
}

function contextAt({ given, books }: Trade, step: number): JsonObject {
  return { ...given, ...books(step) }
}

function withValue(context: JsonObject, path: string, value: Json): JsonObject {
  const copy = structuredClone(context) as JsonObject
  const tokens = parsePointer(path) ?? []
  let holder = copy as unknown as Record<string, Json>
  for (const token of tokens.slice(0, -1)) holder = holder[token] as unknown as Record<string, Json>
  holder[tokens.at(-1) ?? ''] = value
  return copy
}

/** Each innocent step; then, of each place in turn, a step in which it is spoilt or breaks its kind. */
export function stepsOf(trade: Trade, which: 'innocent' | 'spoilt' | 'broken'): readonly Labelled[] {
  const at = (step: number, kind: string, after: JsonObject): Labelled => ({
    kind,
    label: which === 'innocent' ? 'accept' : 'reject',
    domain: trade.name,
    why: `step ${step}`,
    before: contextAt(trade, step - 1),
    after,
  })
  const steps = Array.from({ length: STEPS }, (_, i) => i + 1)
  if (which === 'innocent') return steps.map((step) => at(step, 'step', contextAt(trade, step)))
  return steps.slice(3).map((step) => {
    const places = trade[which]
    const [path, value] = places[step % places.length] as readonly [string, Json]
    return at(step, path, withValue(contextAt(trade, step), path, value))
  })
}

export const innocentSteps: readonly Labelled[] = TRADES.flatMap((trade) => stepsOf(trade, 'innocent'))
export const spoiltSteps: readonly Labelled[] = TRADES.flatMap((trade) => stepsOf(trade, 'spoilt'))
export const brokenSteps: readonly Labelled[] = TRADES.flatMap((trade) => stepsOf(trade, 'broken'))
