/** @module Contexts of many trades, and what an innocent agent makes of one in a step. */
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { CARE } from './fresh/care.ts'
import { MONEY } from './fresh/money.ts'
import { WORK } from './fresh/work.ts'

export const CONTEXTS = new Map([...CARE, ...MONEY, ...WORK].map(({ domain, before }) => [domain, before]))

/** An agent that keeps what it was given, counts, moves its own tasks on, writes notes and learns a fact now and then. */
export function nextStep(before: JsonObject, step: number): JsonObject {
  const task = (id: number, status: string): Json => ({ id: `task-${id}`, status, tool: `look up ${id}` })
  const own: JsonObject = {
    step,
    attempts: 1 + Math.floor(step / 4),
    updated_at: new Date(Date.UTC(2025, 0, 1, 0, step)).toISOString(),
    phase: step < 5 ? 'queued' : step < 20 ? 'in progress' : 'done',
    tasks: Array.from({ length: Math.min(1 + Math.floor(step / 3), 8) }, (_, id) =>
      task(id, step - 3 * id < 1 ? 'pending' : step - 3 * id < 3 ? 'running' : 'succeeded'),
    ),
    learnt: Object.fromEntries(
      Array.from({ length: Math.floor(step / 2) }, (_, i) => [`finding_${i}`, `what was found: ${i * 7}`]),
    ),
  }
  return { ...before, notes: `step ${step}`, agent_state: own }
}
