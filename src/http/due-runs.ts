/** @module Serves the runs that a worker may carry on, with `Prefer: wait=20` as soon as there are some (HTTP-65). */
import { ofWholeRuns } from '../access/check-access.ts'
import { json, problemResponse } from './answers.ts'
import { decodeCursor, encodeCursor, notACursor } from './cursor.ts'
import { bearerToken } from './dispatch.ts'
import { PAGE_DEFAULT, preferredWaitSeconds } from './parameters.ts'
import { problem } from './problems.ts'
import type { RequestContext } from './route.ts'
import { withSlot } from './with-slot.ts'

interface DueParameters {
  readonly due?: 'true' | undefined
  readonly name?: string | undefined
  readonly names?: readonly string[] | undefined
  readonly versions?: readonly string[] | undefined
  readonly perTenant?: number | undefined
  readonly cursor?: string | undefined
  readonly limit?: number | undefined
}

/** The order is that of the time at which a run became due. What is carried on leaves the list, so a worker begins without a cursor again and again. */
export async function listDueRuns(context: RequestContext<DueParameters>): Promise<Response> {
  const { deps, caller, path, query, access, c } = context
  const { due, name, names, versions, perTenant, cursor, limit = PAGE_DEFAULT, ...others } = query
  const asked = [...(names ?? []), ...(name === undefined ? [] : [name])]
  const beside = Object.entries(others).flatMap(([other, value]) => (value === undefined ? [] : [other]))
  if (due === undefined || asked.length === 0 || beside.length > 0) return problemResponse(notDue(beside), path)
  const bound = ofWholeRuns(caller)
  if (bound !== undefined) return problemResponse(bound, path)

  const runs = { names: [...new Set(asked)].sort(), ...(versions !== undefined && { versions }) }
  const { places } = deps.ledger
  const scope = ['due', caller.tenant, runs]
  const [dueAt, runId] = (cursor === undefined ? undefined : decodeCursor(places, scope, cursor)) ?? []
  const after = typeof dueAt === 'string' && typeof runId === 'string' ? { dueAt, runId } : undefined
  if (cursor !== undefined && after === undefined) return problemResponse(notACursor, path)
  const wanted = { ...runs, limit, ...(perTenant !== undefined && { perTenant }), ...(after && { after }) }
  const list = (waitMs: number, signal: AbortSignal) => deps.ledger.dueRuns(caller, wanted, { waitMs, signal })
  const waitSeconds = preferredWaitSeconds(c.req.header('prefer')) ?? 0
  let found = await withSlot(context, () => list(0, c.req.raw.signal))
  if (found instanceof Response) return found
  if (found.items.length === 0 && waitSeconds > 0 && c.req.method !== 'HEAD')
    found = (await waiting(context, (signal) => list(waitSeconds * 1000, signal))) ?? found
  if (access !== undefined) access.count = found.items.length
  const { next } = found
  const nextCursor = next === undefined ? null : encodeCursor(places, scope, [next.dueAt, next.runId])
  return json(200, { items: found.items, nextCursor, asOf: await deps.ledger.lastEventId(caller, found.asOf) })
}

const notDue = (beside: readonly string[]) =>
  problem(
    'invalid-query',
    'what is due is listed by due=true with name or names, and versions, perTenant, cursor and limit if need be',
    {
      evidence: {
        errors: [{ pointer: `/${beside[0] ?? 'due'}`, message: beside[0] ? 'not beside due' : 'needs a name' }],
      },
    },
  )

/** Undefined if the tenant has no slot to wait in: the caller then asks again later. */
async function waiting<T>(
  { deps, caller, c }: RequestContext<DueParameters>,
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const release = deps.slots.acquire(caller.tenant, 'tail')
  if (typeof release === 'string') return undefined
  const over = new AbortController()
  const end = (): void => over.abort()
  const token = bearerToken(c.req.header('authorization')) ?? ''
  const unwatch = deps.liveTokens.watch({ token, expiresAt: caller.expiresAt }, end)
  const { signal: left } = c.req.raw
  deps.draining.addEventListener('abort', end)
  left.addEventListener('abort', end)
  if (left.aborted || deps.draining.aborted) end()
  try {
    return await wait(over.signal)
  } finally {
    unwatch()
    deps.draining.removeEventListener('abort', end)
    left.removeEventListener('abort', end)
    release()
  }
}
