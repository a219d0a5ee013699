/** @module Real agent runs as handoffs: after each result of a tool the agent hands over what it knows now, in one of several shapes. */

import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { addEvidence, addToolResult, type Evidence, emptyEvidence } from '../../../../src/domain/validator/evidence.ts'
import { sinceAfter } from '../../../../src/domain/validator/grounding/established-since.ts'
import { noteOutcome, saysError } from '../../../../src/domain/validator/grounding/recorded-results.ts'
import { type Verdict, validateHandoff } from '../../../../src/domain/validator/validate.ts'
import type { ChatRun } from '../../../support/airline-runs.ts'

export interface Step {
  readonly before: JsonObject
  readonly after: JsonObject
  readonly result: Json
  /** Where the result stands in `after`. */
  readonly place: readonly (string | number)[]
  /** As it was when the handoff came. */
  readonly evidence: Evidence
}

export const SHAPES = ['house', 'natural', 'listed'] as const
export type ContextShape = (typeof SHAPES)[number]

const policy = resolvePolicy({ ungrounded: 'reject' })

export function judgeStep({ before, evidence }: Pick<Step, 'before' | 'evidence'>, after: JsonObject): Verdict {
  return validateHandoff({ before, after, policy, evidence })
}

/** Calls `each` at every handoff, before the evidence grows on. */
export function driveRun({ messages }: ChatRun, shape: ContextShape, each: (step: Step) => void): void {
  const evidence = emptyEvidence(4711)
  const calls = new Map<string, { readonly tool: string; readonly args: JsonObject }>()
  let context: JsonObject = {}
  let revision = 0
  for (const { role, content, tool_calls = [], tool_call_id = '' } of messages) {
    for (const { id, function: call } of tool_calls) {
      calls.set(id, { tool: call.name, args: JSON.parse(call.arguments) as JsonObject })
    }
    revision += 1
    if (role === 'user') addEvidence(evidence, content ?? '')
    const call = calls.get(tool_call_id)
    if (role !== 'tool' || call === undefined) continue
    const result = parsed(content ?? '')
    addToolResult(evidence, { value: result, revision, bytes: 0 })
    noteOutcome(evidence.results, tool_call_id, { tool: call.tool, revision }, saysError(result))
    const place = placeOf(call, { result, shape, context })
    if (place === undefined) continue
    const after = placed(context, place, result) as JsonObject
    revision += 1
    each({ before: context, after, result, place, evidence })
    evidence.results.since = sinceAfter(evidence.results.since, [context, after], revision)
    context = after
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

interface At {
  readonly result: Json
  readonly shape: ContextShape
  readonly context: JsonObject
}

function placeOf(
  { tool, args }: { readonly tool: string; readonly args: JsonObject },
  { result, shape, context }: At,
): readonly (string | number)[] | undefined {
  if (typeof result !== 'object' || result === null) return undefined
  const top = shape === 'natural' ? [] : ['facts']
  const reservation = (result as JsonObject).reservation_id
  if (typeof reservation === 'string') {
    if (shape !== 'listed') return [...top, 'reservations', reservation]
    const list = ((context.facts as JsonObject | undefined)?.reservations ?? []) as readonly JsonObject[]
    const at = list.findIndex((each) => each.reservation_id === reservation)
    return [...top, 'reservations', at < 0 ? list.length : at]
  }
  if (tool === 'get_user_details') return [...top, 'users', String(args.user_id)]
  return [...top, tool, Object.values(args).join(' ') || 'all']
}

export function placed(value: Json | undefined, [token, ...rest]: readonly (string | number)[], inner: Json): Json {
  if (token === undefined) return inner
  if (typeof token === 'number') {
    const list = [...((value ?? []) as readonly Json[])]
    list[token] = placed(list[token], rest, inner)
    return list
  }
  const object = (value ?? {}) as JsonObject
  return { ...object, [token]: placed(object[token], rest, inner) }
}

export interface Leaf {
  readonly place: readonly (string | number)[]
  readonly value: Json
}

export function leavesOf(value: Json, place: readonly (string | number)[] = []): readonly Leaf[] {
  if (Array.isArray(value)) return value.flatMap((each, i) => leavesOf(each as Json, [...place, i]))
  if (typeof value === 'object' && value !== null) {
    return Object.keys(value).flatMap((key) => leavesOf((value as JsonObject)[key] as Json, [...place, key]))
  }
  return [{ place, value }]
}
