/** @module Real agent runs as handoffs: after each result of a tool the agent hands over what it knows now, in one of several shapes. */

import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { addEvidence, addToolResult, type Evidence, emptyEvidence } from '../../../../src/domain/validator/evidence.ts'
import { toolQuestion } from '../../../../src/domain/validator/grounding/answers.ts'
import { sinceAfter } from '../../../../src/domain/validator/grounding/established-since.ts'
import { saysFailed } from '../../../../src/domain/validator/grounding/failed-answers.ts'
import { noteOutcome } from '../../../../src/domain/validator/grounding/recorded-results.ts'
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

const policy = resolvePolicy({ ungrounded: 'reject', suspect: 'refuse' })

export function judgeStep({ before, evidence }: Pick<Step, 'before' | 'evidence'>, after: JsonObject): Verdict {
  return validateHandoff({ before, after, policy, evidence })
}

/** A call of a run with what it answered, and the handoff that follows it. */
export interface Turn {
  readonly callId: string
  readonly tool: string
  readonly args: JsonObject
  readonly result: Json
  /** Absent where the result is no object: then nothing is handed over. */
  readonly handoff?: Omit<Step, 'evidence' | 'result'>
}

/** The calls of a run in order; what its user says comes between them. */
export function* turnsOf({ messages }: ChatRun, shape: ContextShape): Generator<Turn | string> {
  const calls = new Map<string, { readonly tool: string; readonly args: JsonObject }>()
  let context: JsonObject = {}
  for (const { role, content, tool_calls = [], tool_call_id = '' } of messages) {
    for (const { id, function: call } of tool_calls) {
      calls.set(id, { tool: call.name, args: JSON.parse(call.arguments) as JsonObject })
    }
    if (role === 'user') yield content ?? ''
    const call = calls.get(tool_call_id)
    if (role !== 'tool' || call === undefined) continue
    const result = parsed(content ?? '')
    const place = placeOf(call, { result, shape, context })
    const after = place === undefined ? undefined : (placed(context, place, result) as JsonObject)
    const handoff = place === undefined || after === undefined ? {} : { handoff: { before: context, after, place } }
    yield { callId: tool_call_id, ...call, result, ...handoff }
    context = after ?? context
  }
}

/** Calls `each` at every handoff, before the evidence grows on. */
export function driveRun(run: ChatRun, shape: ContextShape, each: (step: Step) => void): void {
  const evidence = emptyEvidence(4711)
  let revision = 0
  for (const turn of turnsOf(run, shape)) {
    revision += 1
    if (typeof turn === 'string') {
      addEvidence(evidence, turn)
      continue
    }
    const { callId, tool, args, result, handoff } = turn
    const asked = toolQuestion(tool, args)
    addToolResult(evidence, { value: result, revision, asked, bytes: 0 })
    noteOutcome(evidence.results, callId, { tool, revision }, saysFailed(result, asked))
    if (handoff === undefined) continue
    revision += 1
    each({ ...handoff, result, evidence })
    evidence.results.since = sinceAfter(evidence.results.since, [handoff.before, handoff.after], revision)
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

/** One leaf of a context spoiled, by kind: a number, an id, a date, a name, an enum, another value of the context, a member, a key. */
export function* spoilings(
  after: JsonObject,
  { place, value }: { readonly place: readonly (string | number)[]; readonly value: Json },
  other: Json | undefined,
): Generator<readonly [string, JsonObject]> {
  const there = place.reduce<Json | undefined>((at, token) => (at as JsonObject | undefined)?.[token as string], after)
  if (there !== value) return
  if (typeof value === 'number') yield ['number', placed(after, place, value + 17) as JsonObject]
  if (typeof value === 'string') {
    const kind = /^\d{4}-\d\d-\d\d/.test(value)
      ? 'date'
      : /\d/.test(value)
        ? 'id'
        : /name/.test(`${place.at(-1)}`)
          ? 'name'
          : 'enum'
    yield [`${kind}`, placed(after, place, kind === 'date' ? '2031-03-09' : `${value}x`) as JsonObject]
  }
  if (other !== undefined) yield ['other value', placed(after, place, other) as JsonObject]
  const last = place.at(-1)
  const above = place.slice(0, -1)
  const holder = above.reduce<Json>((at, token) => (at as JsonObject)[token as string] as Json, after)
  if (typeof last === 'number')
    yield [
      'member',
      placed(
        after,
        above,
        (holder as Json[]).filter((_, i) => i !== last),
      ) as JsonObject,
    ]
  else {
    const { [last as string]: _, ...rest } = holder as JsonObject
    yield ['key', placed(after, above, rest) as JsonObject]
  }
}

/** Whether another value of the same result in its place can be noticed: small numbers and prose are left alone. */
export function isJudged(value: Json): boolean {
  return typeof value === 'number' ? Math.abs(value) >= 10 : typeof value === 'string' && value.split(' ').length < 7
}
