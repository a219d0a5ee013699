/** @module The body of a webhook about an event: which event it is and a link to it, but no data that a caller passed. Pure. */
import { parseStream } from '../../schemas/names.ts'
import type { Notice } from '../ledger/read/notices.ts'

/** The body of a request, and the id by which its receiver recognises repeated deliveries. */
export interface Announcement {
  /** Id of the event: the same for every attempt, restart and process. */
  readonly id: string
  readonly type: string
  /** JSON. */
  readonly body: string
}

export interface AnnouncedBy {
  readonly ledgerId: string
  /** URL at which people reach the ledger, such as `https://ledger.example.com`; if absent, links are paths. */
  readonly publicUrl?: string | undefined
}

export function announcementOf(
  { header, data, announced }: Notice,
  { ledgerId, publicUrl = '' }: AnnouncedBy,
): Announcement {
  const { id, time, tenant, actor, principal, stream, revision } = header
  const run = parseStream(stream)?.runId ?? ''
  const members = announced.members.flatMap((name) => (data[name] === undefined ? [] : [[name, data[name]] as const]))
  const party = { actor, ...(principal !== undefined && { principal }) }
  const place = { ledger: ledgerId, tenant, run, revision, event: id, ...party }
  const link = publicUrl.replace(/\/$/, '') + pathTo(run, data.approvalId)
  const body = { type: announced.as, timestamp: time, data: { ...place, ...Object.fromEntries(members), link } }
  return { id, type: announced.as, body: JSON.stringify(body) }
}

/** The page of the approval if the event is about one, else the page of its run. */
function pathTo(run: string, approvalId: unknown): string {
  const page = `/ui/runs/${encodeURIComponent(run)}`
  return typeof approvalId === 'string' ? `${page}/approvals/${encodeURIComponent(approvalId)}` : page
}
