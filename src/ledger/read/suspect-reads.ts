/**
 * @module Open suspects as people see them before they review them: the path, its value before and after, who changed it, and what would explain the
 * change.
 */
import { openSuspectsTotal, suspectFindings } from '../../../projections/run-suspects.ts'
import { openSuspects, type SuspectState } from '../../../projections/suspect-state.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import { weigh } from '../../resources/memory-budget.ts'
import type { Caller, Ledger } from '../ledger.ts'
import type { RunPage } from '../run-at.ts'
import { PAGE_MAX_BYTES, type PageOfRun, pageOverRuns, RUNS_PAGE } from './pages-over-runs.ts'
import type { Queries } from './queries.ts'
import type { Reader } from './reader.ts'
import type { Render } from './run-as-it-was.ts'
import type { RunList } from './run-list.ts'

interface SuspectReadDeps {
  readonly queries: Queries
  readonly reader: Reader
  readonly list: RunList
}

export function suspectReads(deps: SuspectReadDeps): Pick<Ledger, 'suspects' | 'openSuspects'> {
  return {
    suspects: (caller, runId, page) =>
      deps.queries.read(caller, runId, pageOf(deps, caller, { runId, ...page, maxBytes: PAGE_MAX_BYTES }), page.at),
    openSuspects: (caller, { from, limit }) =>
      pageOverRuns({
        ...{ caller, from, limit },
        runsFrom: async (place) => {
          const filter = {
            status: 'open',
            withSuspects: true as const,
            limit: RUNS_PAGE,
            ...(place && { after: place }),
          }
          return (await deps.list.list(caller, filter)).items
        },
        ofRun: (runId, page) => deps.queries.read(caller, runId, pageOf(deps, caller, { runId, ...page })),
      }),
  }
}

type SuspectPage = PageOfRun & { readonly total: number }

/** `total` counts all open suspects, whether named or not. */
function pageOf(
  { reader }: SuspectReadDeps,
  caller: Caller,
  { runId, after, limit, maxBytes }: RunPage & { readonly runId: string; readonly maxBytes: number },
): Render<SuspectPage & JsonObject> {
  return (state) => {
    const open = openSuspects(state).filter((suspect) => placeInList(suspect) > after)
    const page = open.slice(0, limit)
    const total = openSuspectsTotal(state)
    const { name } = state
    return async () => {
      const items: JsonObject[] = []
      let bytes = 0
      for (const suspect of page) {
        if (bytes >= maxBytes) break
        await caller.pace?.turn()
        const item = { runId, runName: name, ...(await shown(reader, runStream(caller.tenant, runId), suspect)) }
        bytes += weigh(item)
        items.push(item)
      }
      const last = page[items.length - 1]
      return { items, total, bytes, ...(open.length > items.length && last && { next: placeInList(last) }) }
    }
  }
}

/** At most 100 suspects of a handoff are named; the remaining ones come after them. */
const PLACES_OF_STEP = 1000

function placeInList({ id, step }: Pick<SuspectState, 'id' | 'step'>): number {
  const n = Number(id.slice(id.indexOf('.') + 1))
  return step * PLACES_OF_STEP + (Number.isNaN(n) ? PLACES_OF_STEP - 1 : n)
}

/** The suspect with the finding in its event: the full values, and the entries that would explain the change. */
async function shown(reader: Pick<Reader, 'eventAt'>, stream: string, suspect: SuspectState): Promise<JsonObject> {
  const { place: _, closed: __, by, before, after, ...named } = suspect
  const item = { ...named, by: { ...by } as JsonObject }
  if (named.path === '') return item
  const event = await reader.eventAt(stream, named.revision)
  const n = Number(named.id.slice(named.id.indexOf('.') + 1))
  const found = event?.type === 'EnvelopeAccepted' ? suspectFindings(event.data)[n - 1] : undefined
  if (found === undefined) return item
  const { message, supersede, declare } = found
  return {
    ...item,
    ...(found.before !== undefined && { before: found.before as Json }),
    ...(found.after !== undefined && { after: found.after as Json }),
    message,
    ...(supersede !== undefined && { supersede }),
    ...(declare !== undefined && { declare }),
  }
}
