/** @module A wait as the record of a run knows it: at a place like a call, under a name of its own. */
import { jsonDigest } from '../../signing/digests.ts'

const SIGNAL = 'run.waitFor:'
const SLEEP = 'run.sleep'

/** What is in the place of a tool's name. */
export function waitTool(name: string | undefined): string {
  return name === undefined ? SLEEP : `${SIGNAL}${name}`
}

/** The identity of a wait, as that of a call without arguments that its place distinguishes. */
export function waitCallKey(place: {
  readonly name: string | undefined
  readonly scope: string | undefined
  readonly occurrence: number
}): string {
  const { name, scope, occurrence } = place
  const call = { tool: waitTool(name), phase: 'forward', args: null, occurrence }
  return jsonDigest({ ...call, ...(scope !== undefined && { scope }) })
}

/** The outcome of a wait whose signal did not come in time. */
export const TIMED_OUT = { kind: 'failed', error: { message: 'the wait timed out', code: 'wait-timed-out' } } as const
