/** @module Represents a wait in the record of a run: it has a place like a call, and a reserved name. */
import { jsonDigest } from '../../signing/digests.ts'

const SIGNAL = 'run.waitFor:'
const SLEEP = 'run.sleep'

/** The name of a wait in place of a tool's name. */
export function waitTool(name: string | undefined): string {
  return name === undefined ? SLEEP : `${SIGNAL}${name}`
}

/** The key of a wait: that of a call without arguments, which is identified by its place. */
export function waitCallKey(place: {
  readonly name: string | undefined
  readonly scope: string | undefined
  readonly occurrence: number
}): string {
  const { name, scope, occurrence } = place
  const call = { tool: waitTool(name), phase: 'forward', args: null, occurrence }
  return jsonDigest({ ...call, ...(scope !== undefined && { scope }) })
}

/** The outcome of a wait whose signal did not arrive in time. */
export const TIMED_OUT = { kind: 'failed', error: { message: 'the wait timed out', code: 'wait-timed-out' } } as const
