/** @module The audit queries with recording: no query is answered before the read is recorded. */
import type { AccessRead } from '../../access/audit-trail.ts'
import type { AccessLog } from './access-log.ts'
import type { AsOf, AuditQuestion, AuditReads } from './audit-reads.ts'
import type { UnrecordedReads } from './audit-service.ts'
import type { PayloadReads } from './payload-reads.ts'

export interface RecordedReadsDeps extends Pick<AuditReads, 'runs' | 'approvals' | 'runMoment'> {
  readonly log: Pick<AccessLog, 'record'>
  readonly payloads: Pick<PayloadReads, 'note'>
}

export function recordedReads(
  reads: UnrecordedReads,
  { log, payloads, runs, approvals, runMoment }: RecordedReadsDeps,
): AuditReads {
  return {
    runs,
    approvals,
    runMoment,
    asOf: (caller) => reads.asOf(caller),
    matchingRefusal: (caller, filter, range) => reads.matchingRefusal(caller, filter, range),
    matching: (caller, filter, range) => reads.matching(caller, filter, range),
    record: (caller, read) => log.record(caller, read),
    notePayloads: (caller, run) => payloads.note(caller, run),
    plan: (caller, question, page) => reads.plan(caller, question, page),
    page: (caller, planned) => reads.page(caller, planned),
    recordPage: (caller, { question, asOf }, rows) => log.record(caller, readOf(question, asOf, rows)),
    ask: async (caller, question, page) => {
      const answer = await reads.ask(caller, question, page)
      if (answer.ok) await log.record(caller, readOf(question, answer.asOf, answer.count))
      return answer
    },
    event: async (caller, eventId) => {
      const event = await reads.event(caller, eventId)
      if (event !== undefined) await log.record(caller, { query: 'audit/event', filters: { event: eventId }, count: 1 })
      return event
    },
  }
}

function readOf({ name, filter, by, seed }: AuditQuestion, asOf: AsOf, count: number): AccessRead {
  const { run } = filter
  const inputs = { ...filter, by, seed }
  const filters = Object.entries(inputs).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]]))
  return {
    query: `audit/${name}`,
    ...(run !== undefined && { run }),
    ...(filters.length > 0 && { filters: Object.fromEntries(filters) }),
    asOf: { treeSize: asOf.treeSize, ...(asOf.eventId !== null && { eventId: asOf.eventId }) },
    count,
  }
}
