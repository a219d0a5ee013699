/** @module What a webhook says about an event: which it is and where to look, and nothing of what a caller passed. Pure. */
import { parseStream } from '../../schemas/names.ts'
import type { Notice } from '../ledger/read/notices.ts'

/** A request's body, and the id by which its receiver knows it again. */
export interface Announcement {
  /** Of the event: the same at every attempt, after every restart, from every process. */
  readonly id: string
  readonly type: string
  /** JSON. */
  readonly body: string
}

export interface AnnouncedBy {
  readonly ledgerId: string
  /** Where people reach the ledger, such as `https://ledger.example.com`; absent: links are paths. */
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

/** The page of the approval, where it is about one, else that of its run. */
function pathTo(run: string, approvalId: unknown): string {
  const page = `/ui/runs/${encodeURIComponent(run)}`
  return typeof approvalId === 'string' ? `${page}/approvals/${encodeURIComponent(approvalId)}` : page
}
