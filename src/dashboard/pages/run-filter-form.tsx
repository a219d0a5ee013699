/** @module The form of the run list's filters: a plain GET, so that a filtered list has an address. */
import { ROLLBACK_VERDICTS, RUN_STATUSES } from '../../../schemas/run-status.ts'
import { PeriodFields } from '../parts/period-fields.tsx'
import { TextField } from '../parts/text-field.tsx'
import { RUNS } from '../paths.ts'
import type { Row } from '../run-row.ts'
import { VERDICT_MARKS } from '../verdict-marks.ts'
import { visibleText } from '../visible.ts'
import type { RunQuery } from './run-filters.ts'

export function FilterForm({ query, rows }: { readonly query: RunQuery; readonly rows: readonly Row[] }) {
  return (
    <form method="get" action={RUNS} autocomplete="off" class="filters" aria-label="Filter runs">
      <div>
        <label for="f-status">Status</label>
        <select id="f-status" name="status">
          <option value="">Any</option>
          {RUN_STATUSES.map((status) => (
            <option value={status} selected={query.status === status}>
              {status}
            </option>
          ))}
        </select>
      </div>
      <div>
        <label for="f-compensation">Rollback ended</label>
        <select id="f-compensation" name="compensation">
          <option value="">Any</option>
          {ROLLBACK_VERDICTS.map((verdict) => (
            <option value={verdict} selected={query.compensation === verdict}>
              {VERDICT_MARKS[verdict].text}
            </option>
          ))}
        </select>
      </div>
      <TextField name="contains" label="Run, name, tag, agent or person" value={query.contains} list="known" />
      <TextField name="agent" label="Agent" value={query.agent} list="agents" />
      <TextField name="tag" label="Tag" value={query.tag} list="tags" />
      {query.name !== undefined && <TextField name="name" label="Exact name" value={query.name} />}
      <PeriodFields since={query.since} until={query.until} zone={query.zone} sinceLabel="Started since" />
      <TextField name="asOf" label="As of so many events" value={query.asOf} />
      <Suggestions rows={rows} />
      <div class="check">
        <input id="f-refused" type="checkbox" name="refused" value="true" checked={query.refused !== undefined} />
        <label for="f-refused">Refused a handoff</label>
      </div>
      <div class="check">
        <input id="f-in-doubt" type="checkbox" name="inDoubt" value="true" checked={query.inDoubt !== undefined} />
        <label for="f-in-doubt">Call in doubt</label>
      </div>
      <div class="check">
        <input id="f-overdue" type="checkbox" name="overdue" value="true" checked={query.overdue !== undefined} />
        <label for="f-overdue">Lease overdue</label>
      </div>
      <div class="check">
        <input id="f-waiting" type="checkbox" name="waiting" value="true" checked={query.waiting !== undefined} />
        <label for="f-waiting">Waits</label>
      </div>
      <button type="submit" class="button">
        Filter
      </button>
    </form>
  )
}

const SUGGESTIONS_MAX = 60

/** Suggestions from the rows of this page. */
function Suggestions({ rows }: { readonly rows: readonly Row[] }) {
  const people = rows.flatMap(({ actor, principal }) => [actor, ...(principal === undefined ? [] : [principal])])
  const lists = {
    known: [...rows.map(({ name }) => name), ...people, ...rows.map(({ runId }) => runId)],
    agents: rows.flatMap(({ agents }) => agents),
    tags: rows.flatMap(({ tags }) => tags),
  }
  return (
    <>
      {Object.entries(lists).map(([id, values]) => (
        <datalist id={id}>
          {[...new Set(values)].slice(0, SUGGESTIONS_MAX).map((value) => (
            <option value={visibleText(value)} />
          ))}
        </datalist>
      ))}
    </>
  )
}
