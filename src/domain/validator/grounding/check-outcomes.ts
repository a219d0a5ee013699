/** @module An action handed over as done, whose recorded call failed, is `disagrees-with-tool`. */
import { isEqual } from '../../../../projections/json-equality.ts'
import { sortedKeys } from '../../../../projections/set-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { formatPointer, type Token, valueAt } from '../../../../schemas/json-pointer.ts'
import { addFinding } from '../report.ts'
import { isCovered } from '../supersedes.ts'
import type { Checking } from './checking.ts'
import type { FailedCall, RecordedResults } from './recorded-results.ts'

const DONE =
  /^(?:done|completed?|finished|succeeded|success|successful|fulfilled|executed|confirmed|booked|sent|paid|issued|resolved|ok|approved|updated|cancelled|canceled|refunded|applied)$/i
const STATES = ['status', 'state', 'outcome', 'result']
const CALLS = ['callId', 'call_id', 'toolCallId', 'tool_call_id', 'call', 'id']
const TOOLS = ['tool', 'tool_name', 'toolName', 'name', 'action', 'type', 'what']

export function checkOutcomes(checking: Checking): void {
  const { evidence, input } = checking
  if (evidence.results.failed.size === 0) return
  for (const key of sortedKeys(input.after)) lookInto(checking, input.after[key] as Json, [key])
}

function lookInto(checking: Checking, value: Json, place: Token[]): void {
  if (typeof value !== 'object' || value === null) return
  if (isJsonObject(value)) checkAction(checking, value, place)
  for (const key of Object.keys(value)) {
    place.push(Array.isArray(value) ? Number(key) : key)
    lookInto(checking, (value as JsonObject)[key] as Json, place)
    place.pop()
  }
}

function checkAction(
  { evidence, input, report, severity, superseded }: Checking,
  action: JsonObject,
  place: Token[],
): void {
  const state = STATES.find((key) => Object.hasOwn(action, key) && saysDone(action[key] as Json))
  if (state === undefined) return
  const failed = failedCallOf(action, evidence.results, place[0] === 'actions')
  if (failed === undefined) return
  const stood = valueAt(input.before, place.map(String))
  if (stood !== undefined && isEqual(stood, action)) return
  addFinding(report, {
    rule: 'disagrees-with-tool',
    severity: isCovered(superseded, [...place, state]) ? 'warning' : severity,
    path: formatPointer([...place, state]),
    after: action[state] as Json,
    message: `the call of ${failed.tool} failed, as event ${failed.revision} recorded`,
    source: { revision: failed.revision },
  })
}

function saysDone(value: Json): boolean {
  return value === true || (typeof value === 'string' && DONE.test(value.trim()))
}

function failedCallOf(action: JsonObject, results: RecordedResults, isAction: boolean): FailedCall | undefined {
  for (const key of CALLS) {
    const id = Object.hasOwn(action, key) ? action[key] : undefined
    const failed = typeof id === 'string' ? results.failed.get(id) : undefined
    if (failed !== undefined) return failed
  }
  if (!isAction) return undefined
  for (const key of TOOLS) {
    const tool = Object.hasOwn(action, key) ? action[key] : undefined
    if (typeof tool !== 'string' || results.succeeded.has(tool)) continue
    for (const failed of results.failed.values()) if (failed.tool === tool) return failed
  }
  return undefined
}
