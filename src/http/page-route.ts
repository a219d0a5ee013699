/** @module Lists of one run, page by page; items are ordered by the revision that created them. */
import { z } from 'zod'
import type { JsonObject } from '../../schemas/json.ts'
import { READ_RUNS, type TokenAccess } from '../access/access.ts'
import type { Caller, Found, Ledger } from '../ledger/ledger.ts'
import type { RunPage } from '../ledger/run-at.ts'
import { foundResponse, problemResponse } from './answers.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { CursorText, Limit, PAGE_DEFAULT, Positive } from './parameters.ts'
import { problem } from './problems.ts'
import { readAt } from './read-at.ts'
import { type GuardedRoute, type RequestContext, readRoute } from './route.ts'
import { withSlot } from './with-slot.ts'

const PageQuery = z.strictObject({ cursor: CursorText.optional(), limit: Limit.optional() })
/** `asOf` is a size of the log, in events. */
const PastPageQuery = PageQuery.extend({ asOf: Positive.optional() })

/** Before the first item: a run's revisions start at 0. */
const BEFORE_ALL = -1

export interface PageRoute {
  readonly path: string
  readonly summary: string
  readonly tag: string
  /** Schema of the page. */
  readonly answer: z.ZodType
  /** Default: `READ_RUNS`. */
  readonly access?: TokenAccess
  /** Whether `read` takes `at`, a moment in the run's past. */
  readonly ofThePast?: true
  /** The value has `items`, and `next` if there are more. */
  readonly read: (ledger: Ledger, caller: Caller, run: string, page: RunPage) => Promise<Found<JsonObject>>
}

export function pageRoute({ read: readPage, ofThePast, ...route }: PageRoute): GuardedRoute {
  const handle = async (context: RequestContext<z.output<typeof PastPageQuery>>): Promise<Response> => {
    const { deps, caller, run, path, query } = context
    const { asOf } = query
    const scope = [caller.tenant, path, ...(asOf === undefined ? [] : [{ asOf }])]
    const after = query.cursor === undefined ? BEFORE_ALL : decodeCursor(deps.ledger.places, scope, query.cursor)?.[0]
    if (typeof after !== 'number' || !Number.isSafeInteger(after) || after < BEFORE_ALL)
      return problemResponse(notACursor, path)
    const page = { after, limit: query.limit ?? PAGE_DEFAULT }
    const found = await withSlot(context, () =>
      readAt(context, asOf, (at) => readPage(deps.ledger, caller, run, { ...page, ...at })),
    )
    if (found instanceof Response) return found
    if (!found.ok) return foundResponse(found, path)
    const { next, ...value } = found.value
    if (context.access !== undefined && Array.isArray(value.items)) context.access.count = value.items.length
    const nextCursor = typeof next === 'number' ? encodeCursor(deps.ledger.places, scope, [next]) : null
    return foundResponse({ ...found, value: { ...value, nextCursor, asOf: found.revision } }, path)
  }
  return readRoute({ access: READ_RUNS, ...route, query: ofThePast === true ? PastPageQuery : PageQuery, handle })
}

const notACursor = problem('invalid-cursor', 'this is no cursor of this list')
