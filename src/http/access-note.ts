/** @module The note of a read that goes on record (LOG-20): what the handler adds to it, and when it is written. */
import { type AccessRead, goesOnRecord, readOf } from '../access/on-record.ts'
import type { Principal } from '../signing/tokens.ts'
import type { EdgeContext } from './edge-context.ts'
import type { AccessNote, Edge, GuardedRoute } from './route.ts'

export interface Reading {
  readonly c: EdgeContext
  readonly edge: Edge
  readonly caller: Principal
  readonly run: string
}

/** Undefined where nobody reads by an audit scope. */
export function accessNote(route: GuardedRoute, { c, edge, caller, run }: Reading): AccessNote | undefined {
  if (route.method !== 'get' || !goesOnRecord(route.access, caller)) return undefined
  // Asked for last: a ledger whose store is away has none to give.
  const { audit } = edge.ledger
  if (audit === undefined) return undefined
  const query = route.path.replace('/v1/', '').replaceAll(/\/?\{\w+\}/g, '')
  const question = (): AccessRead => readOf(query, run, new URL(c.req.url).searchParams)
  const note: AccessNote = { record: (cut) => audit.record(caller, noted(question(), note, cut)) }
  return note
}

function noted(read: AccessRead, { count, eventId, verdict }: AccessNote, cut: true | undefined): AccessRead {
  return {
    ...read,
    ...(eventId !== undefined && { asOf: { eventId } }),
    ...(count !== undefined && { count }),
    ...(verdict !== undefined && { verdict }),
    ...(cut === true && { cut }),
  }
}
