/** @module Calls whose work is done by a run within the run: while that run is open, only its end decides the outcome of the call (RUN-292). */
import type { Json } from '../../schemas/json.ts'
import type { View } from './page.ts'

type Asking = Pick<View, 'deps' | 'caller'>

/** Calls with the run that does their work. */
export interface ChildCall {
  readonly callId?: Json
  readonly child?: Json
}

/** The open runs that do the work of these calls, by the id of the call. */
export async function openChildren(view: Asking, calls: readonly ChildCall[]): Promise<ReadonlyMap<string, string>> {
  const open = new Map<string, string>()
  for (const { callId, child } of calls) {
    if (typeof child !== 'string') continue
    const found = await view.deps.ledger.run(view.caller, child)
    if (found.ok && found.value.status === 'open') open.set(String(callId), child)
  }
  return open
}
