/** @module Notifications that a page is out of date: names and revisions of runs that changed, without their content. */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { parseStream } from '../../../schemas/names.ts'
import { READ_RUNS } from '../../access/access.ts'
import type { Caller, Ledger } from '../../ledger/ledger.ts'
import type { LedgerEvent } from '../../ledger/ledger-event.ts'
import type { Position } from '../../store/event-store.ts'
import { PAGE_HEADERS } from '../headers.ts'
import { orRefused, pageRoute, Refused, type View } from '../page.ts'

const RETRY_MS = 2_000
/** Positions are padded to this length, so that the length of the sealed place reveals nothing. */
const POSITION_CHARS = 48
const LiveQuery = z.object({ after: z.string().max(256).optional() })
type LiveQuery = z.output<typeof LiveQuery>

/** The current place for a new page: its stream continues from there. */
export async function livePlace(ledger: Pick<Ledger, 'end' | 'places'>, caller: Caller): Promise<string | undefined> {
  const end = await ledger.end()
  return end === undefined ? undefined : sealed(ledger, caller, end)
}

/** Different for each call: the end of the store depends on other tenants, so equal places must not be recognizable. */
function sealed({ places }: Pick<Ledger, 'places'>, { tenant }: Caller, position: Position): string {
  return places.seal(nameOf(tenant), position.padEnd(POSITION_CHARS) + randomBytes(SALT_BYTES).toString('base64url'))
}

const SALT_BYTES = 12
const nameOf = (tenant: string): string => JSON.stringify(['live', tenant])

export const liveRuns = pageRoute({
  path: '/live',
  access: READ_RUNS,
  query: LiveQuery,
  streams: true,
  handle: (view) => opened(view, undefined),
})

export const liveRun = pageRoute({
  path: '/runs/:run/live',
  access: READ_RUNS,
  query: LiveQuery,
  streams: true,
  handle: async (view) => {
    orRefused(await view.deps.ledger.run(view.caller, view.run))
    return opened(view, view.run)
  },
})

function opened({ c, deps, caller, query, session }: View<LiveQuery>, run: string | undefined): Response {
  const place = c.req.header('last-event-id') ?? query.after
  const text = place === undefined ? undefined : deps.ledger.places.open(nameOf(caller.tenant), place)
  if (place !== undefined && text === undefined)
    throw new Refused({ code: 'invalid-cursor', detail: 'The place that the page shows cannot be read.' })
  const after = text?.slice(0, POSITION_CHARS).trimEnd()
  // The stream sends a last frame when its session ends; with the page's pace it would break off instead.
  const { pace: _, ...reader } = caller
  const response = deps.openLive(c, {
    caller: reader,
    token: session.token,
    over: session.over.signal,
    headers: PAGE_HEADERS,
    frames: (signal) => frames(deps.ledger, { caller: reader, run, after }, signal),
  })
  if (response instanceof Response) return response
  throw new Refused({ code: response, detail: 'This tenant holds as many streams open as it may.' })
}

interface TailRequest {
  readonly caller: View['caller']
  readonly run: string | undefined
  readonly after: Position | undefined
}

/** A place that this store does not know is answered with `resync`: the page is then fetched again. */
async function* frames(
  ledger: Ledger,
  { caller, run, after }: TailRequest,
  signal: AbortSignal,
): AsyncGenerator<string> {
  yield `retry: ${RETRY_MS}\n\n`
  const from = { ...(run !== undefined && { runId: run }), ...(after !== undefined && { after }) }
  try {
    for await (const page of ledger.tail(caller, from, signal)) {
      if (page === 'caught-up') continue
      const text = changed(page, (position) => sealed(ledger, caller, position))
      if (text !== undefined) yield text
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    yield 'event: resync\ndata: {}\n\n'
  }
}

function changed(page: readonly LedgerEvent[], placeAt: (position: Position) => string): string | undefined {
  const runs: Record<string, number> = Object.create(null)
  for (const { header } of page) {
    const runId = parseStream(header.stream)?.runId
    if (runId !== undefined) runs[runId] = header.revision
  }
  const last = page.at(-1)
  if (last === undefined || Object.keys(runs).length === 0) return undefined
  return `id: ${placeAt(last.position)}\nevent: changed\ndata: ${JSON.stringify(runs)}\n\n`
}
