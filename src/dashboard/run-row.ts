/** @module A row of the run list and the state of a run, parsed from the ledger's answers into the types that pages need. */
import { z } from 'zod'
import type { RunAnswer } from '../../schemas/answers/runs.ts'
import type { JsonObject } from '../../schemas/json.ts'

const Text = z.string()
const Whole = z.number()

const RowSchema = z.object({
  runId: Text,
  name: Text,
  status: Text,
  tags: z.array(Text),
  agents: z.array(Text).default([]),
  actor: Text,
  principal: Text.optional(),
  compensation: Text.optional(),
  inDoubtCalls: Whole.default(0),
  overdue: z.boolean().optional(),
  stuck: z.object({ code: Text, since: Text }).optional(),
  dueAt: Text.optional(),
  version: Text.optional(),
  seal: z.literal('invalid').optional(),
  startedAt: Text,
  updatedAt: Text,
  revision: Whole,
  step: Whole.default(0),
  rejections: Whole.default(0),
  calls: Whole.default(0),
  waiting: Whole.default(0),
  tokens: Whole.default(0),
  cost: Text.optional(),
  currency: Text.optional(),
  /** At a past moment, a run that is too long to be folded for a list: its numbers are unknown. */
  notCounted: z.literal(true).optional(),
})

export type Row = z.output<typeof RowSchema>

export function rowOf(item: JsonObject): Row {
  return RowSchema.parse(item)
}

/** The state of a run, as used by pages. */
export interface Run extends Omit<RunAnswer, 'asOf'> {
  readonly waiting: NonNullable<RunAnswer['waiting']>
  readonly heldSignals: NonNullable<RunAnswer['heldSignals']>
  /** The shown moment as in addresses; undefined for the present. */
  readonly asOf: string | undefined
}

/** The open calls that are not settled. Calls of models are not counted, since they need no resolution. */
export function unsettledOf({ openCalls }: Pick<Run, 'openCalls'>): Record<'inDoubt' | 'overdue', Run['openCalls']> {
  const calls = openCalls.filter(({ phase }) => phase === undefined)
  return {
    inDoubt: calls.filter(({ status }) => status === 'in-doubt'),
    overdue: calls.filter((call) => call.overdue === true),
  }
}

export function runOf({ waiting = [], heldSignals = [], ...answer }: RunAnswer, asOf?: string): Run {
  return { ...answer, waiting, heldSignals, asOf }
}
