/** @module An action handed over as done, whose recorded call failed, is `disagrees-with-tool`. */

import { sortedKeys } from '../../../../projections/set-text.ts'
import { isEqual, isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { formatPointer, type Token, valueAt } from '../../../../schemas/json-pointer.ts'
import type { Paced } from '../../paced.ts'
import { entryFor } from '../established/superseded.ts'
import { addFinding } from '../report.ts'
import { topKey } from '../trunk.ts'
import type { Checking } from './checking.ts'
import type { FailedCall, RecordedResults } from './recorded-results.ts'

const DONE =
  /^(?:done|completed?|finished|succeeded|success|successful|fulfilled|executed|confirmed|booked|sent|paid|issued|resolved|ok|approved|updated|cancelled|canceled|refunded|applied)$/i
const STATES = ['status', 'state', 'outcome', 'result']
const CALLS = ['callId', 'call_id', 'toolCallId', 'tool_call_id', 'call', 'id']
/** Of an object that is looked at. */
const OBJECT_STEPS = 10
const TOOLS = ['tool', 'tool_name', 'toolName', 'name', 'action', 'type', 'what']

export function* checkOutcomes(checking: Checking): Paced<void> {
  const { evidence, input, pauses } = checking
  const { failed } = evidence.results
  if (failed.size === 0) return
  const ofTool = new Map<string, FailedCall>()
  for (const call of failed.values()) if (!ofTool.has(call.tool)) ofTool.set(call.tool, call)
  pauses.count(failed.size)
  const outcomes = { ...evidence.results, ofTool }
  const waiting: { readonly value: Json; readonly place: readonly Token[] }[] = [{ value: input.after, place: [] }]
  for (let each = waiting.pop(); each !== undefined; each = waiting.pop()) {
    const { value, place } = each
    if (typeof value !== 'object' || value === null) continue
    if (isJsonObject(value) && place.length > 0) checkAction(checking, outcomes, { action: value, place })
    const keys = place.length === 0 ? sortedKeys(value as JsonObject) : Object.keys(value)
    for (let i = keys.length - 1; i >= 0; i--) {
      const key = keys[i] as string
      const below = (value as JsonObject)[key] as Json
      if (typeof below !== 'object' || below === null) continue
      waiting.push({ value: below, place: [...place, Array.isArray(value) ? i : key] })
    }
    pauses.count(OBJECT_STEPS + keys.length)
    if (pauses.due()) yield
  }
}

interface Outcomes extends Pick<RecordedResults, 'failed' | 'succeeded'> {
  /** The first failed call of each tool. */
  readonly ofTool: ReadonlyMap<string, FailedCall>
}

function checkAction(
  { input, report, severity, superseded }: Checking,
  outcomes: Outcomes,
  { action, place }: { readonly action: JsonObject; readonly place: readonly Token[] },
): void {
  const state = STATES.find((key) => Object.hasOwn(action, key) && saysDone(action[key] as Json))
  if (state === undefined) return
  const failed = failedCallOf(action, outcomes, topKey(place, input.trunk) === 'actions')
  if (failed === undefined) return
  const established = valueAt(input.before, place.map(String))
  if (established !== undefined && isEqual(established, action)) return
  addFinding(report, {
    rule: 'disagrees-with-tool',
    severity: entryFor(superseded, [...place, state]) === undefined ? severity : 'warning',
    path: formatPointer([...place, state]),
    after: action[state] as Json,
    message: `the call of ${failed.tool} failed, as event ${failed.revision} recorded`,
    source: { revision: failed.revision },
  })
}

function saysDone(value: Json): boolean {
  return value === true || (typeof value === 'string' && DONE.test(value.trim()))
}

function failedCallOf(action: JsonObject, results: Outcomes, isAction: boolean): FailedCall | undefined {
  for (const key of CALLS) {
    const id = Object.hasOwn(action, key) ? action[key] : undefined
    const failed = typeof id === 'string' ? results.failed.get(id) : undefined
    if (failed !== undefined) return failed
  }
  if (!isAction) return undefined
  for (const key of TOOLS) {
    const tool = Object.hasOwn(action, key) ? action[key] : undefined
    if (typeof tool !== 'string' || results.succeeded.has(tool)) continue
    const failed = results.ofTool.get(tool)
    if (failed !== undefined) return failed
  }
  return undefined
}
