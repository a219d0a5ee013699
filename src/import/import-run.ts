/**
 * @module Imports a run batch by batch, under idempotency keys derived from the position in the transcript: batches that an earlier import recorded are
 * answered from the record, and nothing is added twice.
 */
import type { JsonObject } from '../../schemas/json.ts'
import type { SettleCall } from '../../schemas/requests.ts'
import type { BatchItem } from '../ledger/ledger.ts'
import type { ImportedRun, ImportStep } from './openai-chat.ts'

export type ItemAnswer =
  | { readonly ok: true; readonly body: JsonObject }
  | { readonly ok: false; readonly code: string; readonly detail: string }

export interface BatchAnswer {
  readonly items: readonly ItemAnswer[]
  /** Everything in the batch had been recorded before. */
  readonly replayed: boolean
}

/** A ledger in this process or over HTTP. */
export interface ImportTarget {
  readonly batch: (items: readonly BatchItem[], idempotencyKey: string) => Promise<BatchAnswer>
}

/** The ledger refused a step; earlier steps remain recorded. */
export class ImportRefusedError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.name = 'ImportRefusedError'
    this.code = code
  }
}

/** Less than the limit of one HTTP request. */
const BATCH_MAX_ITEMS = 200
const KEY_PREFIX = 'import'

/** Returns `new` if anything was recorded. Throws `ImportRefusedError`. */
export async function importRun(run: ImportedRun, target: ImportTarget): Promise<'new' | 'known'> {
  const claimed = new Map<string, Claimed>()
  let added = false
  for (const [number, steps] of batchesOf(run).entries()) {
    const items = steps.map((step) => ({ runId: run.runId, command: commandOf(step, claimed) }))
    const answer = await target.batch(items, `${KEY_PREFIX}-${number}`)
    for (const [index, step] of steps.entries()) note(step, answer.items[index], claimed)
    if (!answer.replayed) added = true
  }
  return added ? 'new' : 'known'
}

interface Claimed {
  readonly callId: string
  readonly fence: number
}

type Step =
  | ImportStep
  | { readonly kind: 'start'; readonly run: ImportedRun }
  | { readonly kind: 'end'; readonly run: ImportedRun }

/** A settlement needs the id that its claim received, so it must be in a later batch; a claim may share a batch with earlier settlements. */
function batchesOf(run: ImportedRun): Step[][] {
  const batches: Step[][] = [[{ kind: 'start', run }]]
  const inBatch = new Set<string>()
  for (const step of [...run.steps, { kind: 'end' as const, run }]) {
    const full = (batches.at(-1)?.length ?? 0) >= BATCH_MAX_ITEMS
    if (full || (step.kind === 'settle' && inBatch.has(step.key))) {
      batches.push([])
      inBatch.clear()
    }
    batches.at(-1)?.push(step)
    if (step.kind === 'claim') inBatch.add(step.key)
  }
  return batches
}

function commandOf(step: Step, claimed: ReadonlyMap<string, Claimed>): BatchItem['command'] {
  switch (step.kind) {
    case 'start':
      return { kind: 'start', body: step.run.start }
    case 'envelope':
      return { kind: 'envelope', body: step.body }
    case 'claim':
      return { kind: 'claim', body: step.body }
    case 'settle':
      return settleOf(step, claimed)
    case 'end':
      return step.run.end
  }
}

function settleOf(step: ImportStep & { kind: 'settle' }, claimed: ReadonlyMap<string, Claimed>): BatchItem['command'] {
  const call = claimed.get(step.key)
  if (call === undefined) throw new ImportRefusedError('call-not-found', `the call ${step.key} was never claimed`)
  const body: SettleCall = { fence: call.fence, ...step.outcome }
  return { kind: 'settle', callId: call.callId, body }
}

function note(step: Step, answer: ItemAnswer | undefined, claimed: Map<string, Claimed>): void {
  if (answer?.ok !== true) {
    const place = 'key' in step ? `${step.kind} ${step.key}` : step.kind
    throw new ImportRefusedError(answer?.code ?? 'no-answer', `${place}: ${answer?.detail ?? 'no answer came'}`)
  }
  if (step.kind !== 'claim') return
  const { callId, fence } = answer.body
  if (typeof callId !== 'string' || typeof fence !== 'number') {
    throw new ImportRefusedError('no-answer', `${step.key}: the ledger's answer names no call`)
  }
  claimed.set(step.key, { callId, fence })
}
