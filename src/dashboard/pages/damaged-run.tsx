/** @module A run that does not verify: no state, picture or sums are computed; its events are shown as stored. */
import { READ_TENANT } from '../../access/access.ts'
import { mayOpen } from '../../access/check-access.ts'
import { count } from '../format.ts'
import type { Page, View } from '../page.ts'
import { orRefused } from '../page.ts'
import { Badge, Data } from '../parts/data.tsx'
import { EventTable } from '../parts/event-table.tsx'
import { LOG, RUNS, runPath } from '../paths.ts'
import { type EventRow, rowOf } from '../story/event-rows.ts'

const WINDOW_EVENTS = 200
const NO_NAMES = { spanOf: new Map<string, never>() }

/** `detail`: the ledger's description of the damage. */
export async function damagedRun(view: View<{ readonly from?: number | undefined }>, detail: string): Promise<Page> {
  const { caller, deps, run, query } = view
  const from = query.from ?? 0
  const range = { from, to: from + WINDOW_EVENTS - 1 }
  const found = await deps.ledger.integrity.eventsAsStored(caller, run, range)
  const events = orRefused(found)
  const last = found.ok ? found.revision : 0
  const rows = events.map((event) => rowOf(event, NO_NAMES))
  // The status is a server error: a script must not take this page for a sound run.
  return {
    title: `${run}: does not verify`,
    nav: 'runs',
    status: 500,
    scripts: ['event-detail.js', 'zones.js'],
    body: <DamagedRun {...{ run, detail, rows, from, last, isAuditor: mayOpen(READ_TENANT, caller) }} />,
  }
}

interface DamagedProps {
  readonly run: string
  readonly detail: string
  readonly rows: readonly EventRow[]
  readonly from: number
  readonly last: number
  readonly isAuditor: boolean
}

function DamagedRun({ run, detail, rows, from, last, isAuditor }: DamagedProps) {
  const end = from + rows.length - 1
  return (
    <>
      <p class="crumbs">
        <a href={RUNS}>Runs</a>
      </p>
      <div class="page-head">
        <h1>
          <Data text={run} /> <Badge kind="bad" text="does not verify" />
        </h1>
      </div>
      <div class="notice notice-bad">
        <h2>The record of this run is damaged</h2>
        <p>
          <Data text={detail} />
        </p>
        <p>
          The ledger writes nothing more to this run and makes no state, no sums and no picture of it. Keep a copy of
          the store as it is, run <code>countersign verify</code>, which names every fault, and restore the run from a
          copy. {isAuditor && <a href={`${LOG}#integrity`}>All recorded faults</a>}
        </p>
      </div>
      <section aria-labelledby="events-title">
        <div class="section-head">
          <h2 id="events-title">Events as they lie in the store</h2>
          <nav class="pager" aria-label="Events shown">
            {from > 0 && <a href={runPath(run, { from: Math.max(0, from - WINDOW_EVENTS) })}>Earlier</a>}
            <span class="muted">
              Events {count(from)} to {count(end)} of {count(last + 1)}
            </span>
            {end < last && <a href={runPath(run, { from: end + 1 })}>Later</a>}
          </nav>
        </div>
        <p class="muted">
          Each was held against its own seal. One whose seal fits is what was sealed; that none is missing between them
          is not shown here.
        </p>
        <EventTable run={run} rows={rows} />
      </section>
    </>
  )
}
