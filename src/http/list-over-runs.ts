/** @module Answers for lists of items across the runs of a tenant, page by page. */
import type { Found, PlaceInRuns, WaitingPage } from '../ledger/ledger.ts'
import { json, problemResponse } from './answers.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { problem } from './problems.ts'
import type { RequestContext } from './route.ts'
import { withSlot } from './with-slot.ts'

/** Default page size, for items that may hold half a megabyte each. */
export const PAGE_DEFAULT = 50

interface PageQuery {
  readonly cursor?: string | undefined
  readonly limit?: number | undefined
}

export async function listOverRuns(
  context: RequestContext<PageQuery>,
  read: (page: { readonly from?: PlaceInRuns; readonly limit: number }) => Promise<Found<WaitingPage>>,
): Promise<Response> {
  const { deps, caller, path, query } = context
  const scope = [caller.tenant, path]
  const from = query.cursor === undefined ? undefined : placeOf(decodeCursor(deps.ledger.places, scope, query.cursor))
  if (query.cursor !== undefined && from === undefined) return problemResponse(notACursor, path)
  const limit = query.limit ?? PAGE_DEFAULT
  const found = await withSlot(context, () => read({ limit, ...(from !== undefined && { from }) }))
  if (found instanceof Response) return found
  if (!found.ok) return problemResponse(found.refusal, path)
  const { items, next, unreadable } = found.value
  if (context.access !== undefined) context.access.count = items.length
  const { startedAt = '', runId = '', after = null } = next ?? {}
  const nextCursor = next === undefined ? null : encodeCursor(deps.ledger.places, scope, [startedAt, runId, after])
  return json(200, { items, nextCursor, ...(unreadable && { unreadable: unreadable.map((run) => ({ ...run })) }) })
}

function placeOf(parts: readonly unknown[] | undefined): PlaceInRuns | undefined {
  const [startedAt, runId, after] = parts ?? []
  if (typeof startedAt !== 'string' || typeof runId !== 'string') return undefined
  return { startedAt, runId, ...(typeof after === 'number' && { after }) }
}

const notACursor = problem('invalid-cursor', 'this is no cursor of this list')
