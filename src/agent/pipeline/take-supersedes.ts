/** @module What an agent's own answer says that it supersedes: its member `$supersedes`, which is no part of what is handed over. */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { AgentError } from '../errors.ts'
import type { Supersession } from './handoff-types.ts'

const MEMBER = '$supersedes'

export interface Superseding {
  readonly payload: JsonObject
  readonly supersedes?: readonly Supersession[]
}

/** Throws `invalid-output` where `$supersedes` is no list of `{path, reason}`. */
export function takeSupersedes(answer: JsonObject, agent: string): Superseding {
  if (!Object.hasOwn(answer, MEMBER)) return { payload: answer }
  const { [MEMBER]: said, ...payload } = answer
  if (said === null) return { payload }
  const entries = Array.isArray(said) ? said.map((each) => entryOf(each as Json)) : [undefined]
  if (entries.includes(undefined)) {
    const message = `${MEMBER} of ${agent} is a list of {"path": JSON Pointer, "reason": why}, both texts`
    throw new AgentError('invalid-output', message, { agent })
  }
  return { payload, supersedes: entries as Supersession[] }
}

function entryOf(entry: Json): Supersession | undefined {
  if (!isJsonObject(entry)) return undefined
  const { path, reason } = entry
  return typeof path === 'string' && typeof reason === 'string' ? { path, reason } : undefined
}
