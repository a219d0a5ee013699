/**
 * @module Pages of one list over many runs, newest run first, with the cursor of the next page. A run that cannot be read is named and does not hide
 * the others.
 */
import type { JsonObject } from '../../../schemas/json.ts'
import type { Caller, Found, PlaceInRuns, WaitingPage } from '../ledger.ts'
import { type UnreadableRun, unreadableMember, unreadableRun } from './unreadable.ts'

/** A page ends with the item that reaches this size: the arguments of one item may take half a megabyte. */
export const PAGE_MAX_BYTES = 4 * 1024 * 1024

/** Number of runs read from the tenant's list at a time. */
export const RUNS_PAGE = 100
/** Maximum number of runs read for one page; a page that finds too few items in them ends with a cursor. */
const RUNS_MAX = 500

export interface PageOfRun {
  readonly items: readonly JsonObject[]
  /** Total weight of the items, in bytes. */
  readonly bytes: number
  /** Present if there are more items. */
  readonly next?: number
}

export interface OverRuns {
  readonly caller: Caller
  readonly from: PlaceInRuns | undefined
  readonly limit: number
  /** Open runs after a place that may have items. */
  readonly runsFrom: (
    place: { readonly startedAt: string; readonly runId: string } | undefined,
  ) => Promise<readonly JsonObject[]>
  readonly ofRun: (
    runId: string,
    page: { readonly after: number; readonly limit: number; readonly maxBytes: number },
  ) => Promise<Found<PageOfRun>>
}

export async function pageOverRuns({ caller, limit, ofRun, ...over }: OverRuns): Promise<Found<WaitingPage>> {
  const items: JsonObject[] = []
  const unreadable: UnreadableRun[] = []
  const answer = (next?: PlaceInRuns): Found<WaitingPage> => {
    const value = { items, ...(next !== undefined && { next }), ...unreadableMember(unreadable) }
    return { ok: true, revision: 0, value }
  }
  let { from } = over
  let bytes = 0
  for (let looked = 0; ; ) {
    const runs = await runsBehind(over, from)
    for (const { runId, startedAt } of runs) {
      await caller.pace?.turn()
      const after = from?.runId === runId ? (from.after ?? -1) : -1
      const found = await ofRun(runId, { after, limit: limit - items.length, maxBytes: PAGE_MAX_BYTES - bytes })
      const broken = found.ok ? undefined : unreadableRun(runId, found.refusal)
      if (broken !== undefined) unreadable.push(broken)
      else if (!found.ok) return found
      items.push(...(found.ok ? found.value.items : []))
      bytes += found.ok ? found.value.bytes : 0
      const more = found.ok ? found.value.next : undefined
      from = { startedAt, runId, ...(more !== undefined && { after: more }) }
      if (items.length >= limit || bytes >= PAGE_MAX_BYTES || more !== undefined) return answer(from)
    }
    if (runs.length < RUNS_PAGE) return answer()
    looked += runs.length
    if (looked >= RUNS_MAX) return answer(from)
  }
}

/** Starts with the run of the cursor itself if it has more items. */
async function runsBehind(
  { runsFrom }: Pick<OverRuns, 'runsFrom'>,
  from: PlaceInRuns | undefined,
): Promise<readonly { runId: string; startedAt: string }[]> {
  const place = from === undefined ? undefined : { startedAt: from.startedAt, runId: from.runId }
  const items = await runsFrom(place)
  const rows = items.map(({ runId, startedAt }) => ({ runId: String(runId), startedAt: String(startedAt) }))
  return from?.after === undefined || place === undefined ? rows : [place, ...rows]
}
