/** @module Finite streams: exports with a trailer that proves completeness, and the replay of a run. */
import { z } from 'zod'
import { EventQueryParams } from '../../../schemas/event-query.ts'
import type { Json } from '../../../schemas/json.ts'
import { EXPORT, READ_PAYLOADS } from '../../access/access.ts'
import { type Portions, portionsOf } from '../../export/export-body.ts'
import { FORMAT_NAMES } from '../../export/formats.ts'
import { prepareExport } from '../../export/issue-export.ts'
import { type ReplayPortion, replayPortions } from '../../read-workers/replay-portions.ts'
import type { Position } from '../../store/event-store.ts'
import { problemResponse } from '../answers.ts'
import { decodeCursor, encodeCursor, paddedPosition } from '../cursor.ts'
import { cursorSalt, isPosition } from '../event-cursor.ts'
import { problemOfExport } from '../export-problem.ts'
import { openStream } from '../open-stream.ts'
import { CursorText, Positive, Whole } from '../parameters.ts'
import { problem } from '../problems.ts'
import { readAt } from '../read-at.ts'
import { type AccessNote, type GuardedRoute, type RequestContext, readRoute } from '../route.ts'

const tag = 'history'
const produces = 'application/x-ndjson'
/** Portion size of a replay in this thread: every line is sent as soon as it is made. */
const EVERY_LINE = 0
/** Header with the cursor that resumes this export, pinned to the same end, with `?cursor=&offset=<bytes received>`. */
const CURSOR_HEADER = 'countersign-export-cursor'

const RunExportQuery = z.strictObject({
  ...EventQueryParams.omit({ run: true }).shape,
  format: z.enum(FORMAT_NAMES).optional(),
  cursor: CursorText.optional(),
  offset: Whole.optional(),
})
/** `from` is a leaf of the tenant's whole log. */
const ExportQuery = z.strictObject({ ...RunExportQuery.shape, from: Whole.optional() })

/** `asOf` is a size of the log, in events. */
const ReplayQuery = z.strictObject({ asOf: Positive.optional() })

export const exportRoutes: readonly GuardedRoute[] = [
  readRoute({
    path: '/v1/export',
    summary: `All the tenant's events, or those from a leaf of its log on, up to the moment of asking, as ${FORMAT_NAMES.join(', ')}`,
    tag,
    access: EXPORT,
    query: ExportQuery,
    produces,
    handle: exported,
  }),
  readRoute({
    path: '/v1/runs/{run}/export',
    summary: `All events of a run, up to the moment of asking, as ${FORMAT_NAMES.join(', ')}`,
    tag,
    access: EXPORT,
    query: RunExportQuery,
    produces,
    handle: exported,
  }),
  readRoute({
    path: '/v1/runs/{run}/replay',
    summary: 'Reread, verify and fold a run again: one line a step, a verdict last',
    tag,
    access: READ_PAYLOADS,
    query: ReplayQuery,
    produces,
    handle: replayed,
  }),
]

async function exported(context: RequestContext<z.output<typeof ExportQuery>>): Promise<Response> {
  const { deps, caller, run, path, query } = context
  const { format = 'jsonl', cursor: _, offset: __, from, ...request } = query
  const scope = ['export', caller.tenant, path, format, { ...request, ...(from !== undefined && { from }) }]
  const { places } = deps.ledger
  const place = query.cursor === undefined ? undefined : (decodeCursor(places, scope, query.cursor) ?? null)
  const resumed = resumedPlace(place, query.offset)
  if (resumed === 'invalid') return problemResponse(invalid, path)
  const until = resumed?.until
  if (until !== undefined && !isPosition(deps.ledger, until)) return problemResponse(gone, path)
  const exportRequest = {
    format,
    query: { ...request, ...(run !== '' && { run }) },
    ...(from !== undefined && { from }),
    ...(resumed && { resume: { until, offset: query.offset ?? 0 } }),
  }
  const prepared = await prepareExport(deps.ledger, caller, exportRequest, deps.readers)
  if (!prepared.ok) return problemResponse(problemOfExport(prepared), path)
  const { pin, format: form, start, chunks } = prepared.value
  const tree = pin.tree?.root ?? null
  if (resumed !== undefined && resumed.root !== tree) return problemResponse(gone, path)
  return openStream(context, {
    kind: 'export',
    contentType: form.contentType,
    headers: {
      // Names of runs and tenants need no quoting: they contain neither quotes nor slashes.
      'content-disposition': `attachment; filename="${run === '' ? caller.tenant : run}.${form.extension}"`,
      [CURSOR_HEADER]: encodeCursor(places, scope, [paddedPosition(pin.until ?? ''), tree, cursorSalt()]),
    },
    before: start,
    chunks,
  })
}

/** Undefined if the export starts from the beginning. `place` is null if the cursor does not belong to this export. */
function resumedPlace(
  place: readonly Json[] | null | undefined,
  offset: number | undefined,
): { readonly until: Position | undefined; readonly root: string | null } | 'invalid' | undefined {
  if (place === undefined) return offset === undefined ? undefined : 'invalid'
  const [until, root] = place ?? []
  if (typeof until !== 'string' || (typeof root !== 'string' && root !== null)) return 'invalid'
  return { until: until.trimEnd() || undefined, root }
}

const invalid = problem(
  'invalid-cursor',
  `a cut export is resumed with the ${CURSOR_HEADER} of its first answer, under the same path, format and query, and offset=<bytes received>`,
)
const gone = problem('cursor-gone', 'the history up to this place is another one now: start the export again')

async function replayed(context: RequestContext<z.output<typeof ReplayQuery>>): Promise<Response> {
  const { deps, caller, run, path } = context
  const found = await readAt(context, context.query.asOf, ({ at }) => deps.ledger.replay(caller, run, at))
  if (found instanceof Response) return found
  if (!found.ok) return problemResponse(found.refusal, path)
  const { lines, losses } = found.value
  const request = { tenant: caller.tenant, caller: caller.actor, run, to: found.revision, losses }
  const portions = () => deps.readers?.replay(request) ?? portionsOf(replayPortions(lines, EVERY_LINE))
  return openStream(context, {
    kind: 'replay',
    contentType: produces,
    chunks: (signal) => replayChunks(portions(), context.access, signal),
  })
}

/** The verdict of a replay becomes part of the record of the read. */
async function* replayChunks(
  portions: Portions<ReplayPortion>,
  access: AccessNote | undefined,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const leave = (): void => portions.leave()
  signal.addEventListener('abort', leave)
  try {
    for (let portion = await portions.next(); portion !== undefined; portion = await portions.next()) {
      const { chunk, verdict, events } = portion
      if (access !== undefined && verdict !== undefined) {
        access.verdict = verdict === 'VERIFIED' || verdict === 'TAMPERED' ? verdict : 'INCOMPLETE'
        access.count = Number(events)
      }
      signal.throwIfAborted()
      yield chunk
    }
  } finally {
    signal.removeEventListener('abort', leave)
    await portions.close()
  }
}
