/** @module `countersign calls list|resolve`. */
import type { Json, JsonObject } from '../../schemas/json.ts'
import { parseStrictText } from '../signing/strict-json.ts'
import { openApi } from './api.ts'
import type { Arguments } from './arguments.ts'
import { EXIT, usageFailure } from './failure.ts'
import { limitOf } from './filters.ts'
import { printObject } from './print-object.ts'
import { runIdOf } from './run-id.ts'
import { printRows } from './table.ts'
import { openWritingApi } from './writing-api.ts'

const COLUMNS = ['since', 'runId', 'callId', 'tool', 'args', 'status', 'overdue', 'child', 'agent', 'run']

/** Lists all calls without an outcome, or only those in doubt, or overdue. */
export async function listCalls(inputs: Arguments): Promise<number> {
  const limit = limitOf(inputs)
  const [status = 'open', other] = ['in-doubt', 'overdue'].filter((name) => inputs.has(name))
  if (other !== undefined) throw usageFailure('--in-doubt, --overdue: a call is one or the other')
  await using api = await openApi(inputs)
  await printRows(api.items('/v1/calls', { status }, limit), { columns: COLUMNS, json: inputs.has('json') })
  return api.exitCode()
}

export async function resolveCall(inputs: Arguments): Promise<number> {
  const run = runIdOf(inputs)
  const callId = inputs.positionals[1] ?? ''
  const body = resolutionOf(inputs)
  await using api = await openWritingApi(inputs)
  const path = `/v1/runs/${run}/calls/${encodeURIComponent(callId)}/resolve`
  printObject(await api.post(path, body), inputs.has('json'))
  return EXIT.ok
}

function resolutionOf(inputs: Arguments): JsonObject {
  const outcomes = ['executed', 'not-executed'].filter((name) => inputs.has(name))
  const [outcome] = outcomes
  if (outcome === undefined || outcomes.length > 1) {
    throw usageFailure('say what you found: either --executed or --not-executed')
  }
  const reason = inputs.text('reason')
  if (reason === undefined || reason.trim() === '') {
    throw usageFailure('--reason is missing: how you know, which is recorded')
  }
  const result = inputs.text('result')
  if (result !== undefined && outcome !== 'executed') throw usageFailure('--result: what was not executed gave nothing')
  return { outcome, evidence: { reason }, ...(outcome === 'executed' && { result: resultIn(result) }) }
}

function resultIn(text: string | undefined): Json {
  if (text === undefined) return null
  const parsed = parseStrictText(text)
  if (!parsed.ok) throw usageFailure('--result takes JSON, such as \'{"payment":"p-7"}\' or \'"p-7"\'')
  return parsed.value
}
