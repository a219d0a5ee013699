/** @module What a workload finds again in the record: each mark exactly once, under the digest that was acknowledged. */
import type { JsonObject } from '../../schemas/json.ts'
import { recordDigest } from '../../src/signing/digests.ts'
import type { ApiClient } from './api-client.ts'
import type { Acknowledged, Workload } from './workload.ts'

/** The event that a request of the workload makes, and where in its body the mark stands. */
const MARKED: Readonly<Record<string, readonly string[]>> = {
  EnvelopeAccepted: ['payload', 'note'],
  ToolCallClaimed: ['args', 'mark'],
  ToolCallSucceeded: ['result', 'mark'],
  BudgetReserved: ['model'],
  UsageRecorded: ['usage', 'model'],
}

export interface Recorded {
  /** Digests of the events that carry a mark: more than one where a request was carried out twice. */
  readonly digests: ReadonlyMap<string, readonly string[]>
  readonly events: number
}

/** Reads all events of the runs by their exports, and checks that each export is whole. */
export async function recordedMarks(client: ApiClient, runs: readonly string[]): Promise<Recorded> {
  const digests = new Map<string, string[]>()
  let events = 0
  for (const run of runs) {
    let ofRun = 0
    let trailer: JsonObject | undefined
    for await (const line of client.lines(`/v1/runs/${run}/export`)) {
      const parsed = JSON.parse(line) as { header?: JsonObject; data?: JsonObject; trailer?: JsonObject }
      trailer = parsed.trailer
      if (parsed.header === undefined) continue
      if (parsed.header.revision !== ofRun) throw new Error(`${run}: revision ${parsed.header.revision} at ${ofRun}`)
      ofRun += 1
      const mark = markOf(parsed.header, parsed.data)
      if (mark !== undefined) digests.set(mark, [...(digests.get(mark) ?? []), headerDigest(line)])
    }
    if (trailer?.events !== ofRun) throw new Error(`${run}: the export is cut after ${ofRun} events`)
    events += ofRun
  }
  return { digests, events }
}

/** What is wrong: acknowledged and not there, there twice, or there under another digest than was answered. Empty where all is well. */
export function lostOrDoubled(workload: Workload, recorded: Recorded): readonly string[] {
  const faults = [...workload.acknowledged.values()].flatMap((each) => faultOf(each, recorded))
  const twice = [...recorded.digests].filter(([, found]) => found.length > 1)
  return [...faults, ...twice.map(([mark, found]) => `${mark}: recorded ${found.length} times`)]
}

function faultOf({ key, answer, status }: Acknowledged, { digests }: Recorded): readonly string[] {
  const found = digests.get(key) ?? []
  if (found.length === 0) return [`${key}: acknowledged with ${status} and not there`]
  if (typeof answer.digest === 'string' && !found.includes(answer.digest)) return [`${key}: there under another digest`]
  return []
}

function markOf(header: JsonObject, data: JsonObject | undefined): string | undefined {
  const path = MARKED[String(header.type)]
  if (path === undefined) return undefined
  let value: unknown = data
  for (const name of path) value = (value as Record<string, unknown> | undefined)?.[name]
  return typeof value === 'string' ? value : undefined
}

/** Digest of the very text: a line is `{"header":H,"salt":...`, and JCS puts no `"salt"` member into a header. */
function headerDigest(line: string): string {
  return recordDigest(line.slice('{"header":'.length, line.indexOf(',"salt":"')))
}
