/** @module Refusals recorded in a run: equal ones only once, and a limited number per window (STR-12). */
import type { Header } from '../schemas/header.ts'
import { REFUSALS_PER_WINDOW, type RunState, safeKey } from './run-state.ts'

/** Key under which refusals count as equal. */
export function refusalKey(actor: string, code: string, fingerprint: string): string {
  return safeKey(`${code} ${fingerprint} ${actor}`)
}

export function countRefusal(state: Pick<RunState, 'refusals' | 'refusalTimes'>, key: string, header: Header): void {
  state.refusals[key] = header.revision
  state.refusalTimes.push(header.time)
  if (state.refusalTimes.length > REFUSALS_PER_WINDOW) state.refusalTimes.shift()
}
