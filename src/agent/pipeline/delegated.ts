/** @module Splits an agent's answer into the payload and the members that are not part of it: `$supersedes`, `$moves` and `$add`. */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { AgentError } from '../errors.ts'
import type { Declaration, Supersession } from './handoff-types.ts'

const SUPERSEDES = '$supersedes'
const MOVES = '$moves'
const ADD = '$add'

export interface HandedOver {
  readonly payload: JsonObject
  readonly supersedes?: readonly Supersession[]
  /** Paths that the agent declares as moving. */
  readonly moves?: readonly Declaration[]
  /** Additions to the context: new members of its lists. */
  readonly add?: JsonObject
}

/** Throws `invalid-output` if `$supersedes` is no list of `{path, reason}`, `$moves` no list of `{path, as, reason, by?}`, or `$add` no object. */
export function delegatedIn(answer: JsonObject, agent: string): HandedOver {
  const { [SUPERSEDES]: supersedes = null, [MOVES]: moves = null, [ADD]: add = null, ...payload } = answer
  return {
    payload,
    ...(supersedes !== null && { supersedes: supersessionsIn(supersedes, agent) }),
    ...(moves !== null && { moves: declarationsIn(moves, agent) }),
    ...(add !== null && { add: additionIn(add, agent) }),
  }
}

/** The text whose tokens are counted: the payload and the additions. */
export function delegatedText({ payload, add }: HandedOver): string {
  return `${JSON.stringify(payload)}${add === undefined ? '' : JSON.stringify(add)}`
}

function declarationsIn(input: Json, agent: string): readonly Declaration[] {
  const entries = Array.isArray(input) ? input.map((each) => declarationOf(each as Json)) : [undefined]
  if (entries.includes(undefined)) {
    const message = `${MOVES} of ${agent} is a list of {"path": JSON Pointer, "as": the kind, "reason": why}, all texts`
    throw new AgentError('invalid-output', message, { agent })
  }
  return entries as Declaration[]
}

function declarationOf(entry: Json): Declaration | undefined {
  if (!isJsonObject(entry)) return undefined
  const { path, as, by, reason } = entry
  if (typeof path !== 'string' || typeof as !== 'string' || typeof reason !== 'string') return undefined
  if (by === undefined || by === null) return { path, as, reason }
  return typeof by === 'string' ? { path, as, by, reason } : undefined
}

function supersessionsIn(input: Json, agent: string): readonly Supersession[] {
  const entries = Array.isArray(input) ? input.map((each) => entryOf(each as Json)) : [undefined]
  if (entries.includes(undefined)) {
    const message = `${SUPERSEDES} of ${agent} is a list of {"path": JSON Pointer, "reason": why}, both texts`
    throw new AgentError('invalid-output', message, { agent })
  }
  return entries as Supersession[]
}

function entryOf(entry: Json): Supersession | undefined {
  if (!isJsonObject(entry)) return undefined
  const { path, reason } = entry
  return typeof path === 'string' && typeof reason === 'string' ? { path, reason } : undefined
}

function additionIn(input: Json, agent: string): JsonObject {
  if (isJsonObject(input)) return input
  const message = `${ADD} of ${agent} is an object of the context's shape, which holds the new members of its lists`
  throw new AgentError('invalid-output', message, { agent })
}
