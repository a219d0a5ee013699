/** @module A row of the run list and the state of a run, read out of the ledger's answers with the types that pages need. */
import { z } from 'zod'
import type { JsonObject } from '../../schemas/json.ts'
import { ResolvedPolicy } from '../../schemas/policy.ts'

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
  /** A run of the past that is too long to be folded for a list: its numbers are not known. */
  notCounted: z.literal(true).optional(),
})

export type Row = z.output<typeof RowSchema>

export function rowOf(item: JsonObject): Row {
  return RowSchema.parse(item)
}

const RunSchema = z.object({
  runId: Text,
  name: Text,
  status: Text,
  compensation: Text.optional(),
  seal: z.literal('invalid').optional(),
  revision: Whole,
  actor: Text,
  principal: Text.optional(),
  startedAt: Text,
  updatedAt: Text,
  tags: z.array(Text),
  step: Whole,
  contextDigest: Text,
  rejections: Whole,
  rewinds: Whole,
  agents: z.array(Text),
  policy: ResolvedPolicy,
  budget: z.object({
    tokens: Whole,
    cost: Text,
    reservedTokens: Whole,
    reservedCost: Text,
    currency: Text.optional(),
    limits: z.object({ tokens: Whole.optional(), cost: Text.optional() }),
  }),
  calls: Whole,
  openCalls: z.array(z.object({ callId: Text, tool: Text, status: Text, overdue: z.boolean().optional() })),
  openReservations: z.array(Text),
  waiting: z
    .array(
      z.object({
        for: z.enum(['approval', 'signal', 'time']),
        approvalId: Text.optional(),
        tool: Text.optional(),
        name: Text.optional(),
        since: Text,
        until: Text.optional(),
      }),
    )
    .default([]),
  heldSignals: z.array(z.object({ signalId: Text, name: Text, receivedAt: Text })).default([]),
  childOf: z.object({ run: Text, callId: Text, depth: Whole }).optional(),
  /** The moment that it is shown at, as addresses have it; absent: now. */
  asOf: Text.optional(),
  children: z.array(z.object({ run: Text, callId: Text, tool: Text.optional(), status: Text.optional() })),
})

export type Run = z.output<typeof RunSchema>

export function runOf(value: JsonObject, asOf?: string): Run {
  return { ...RunSchema.parse(value), asOf }
}
