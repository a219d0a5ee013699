/** @module The form of the run list's filters: a plain GET, so that a filtered list has an address. */
import { ROLLBACK_VERDICTS, RUN_STATUSES } from '../../../schemas/run-status.ts'
import { VERDICT_MARKS } from '../parts/status-badge.tsx'
import { RUNS } from '../paths.ts'
import type { RunQuery } from './run-filters.ts'

export function FilterForm({ query }: { readonly query: RunQuery }) {
  return (
    <form method="get" action={RUNS} class="filters" aria-label="Filter runs">
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
      <TextField name="name" label="Name" value={query.name} />
      <TextField name="agent" label="Agent" value={query.agent} />
      <TextField name="tag" label="Tag" value={query.tag} />
      <TimeField name="since" label="Started since (UTC)" value={query.since} />
      <TimeField name="until" label="Before (UTC)" value={query.until} />
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

interface FieldProps {
  readonly name: string
  readonly label: string
  readonly value: string | undefined
}

function TextField({ name, label, value }: FieldProps) {
  return (
    <div>
      <label for={`f-${name}`}>{label}</label>
      <input
        id={`f-${name}`}
        type="text"
        name={name}
        value={value ?? ''}
        maxlength={256}
        autocomplete="off"
        spellcheck={false}
      />
    </div>
  )
}

function TimeField({ name, label, value }: FieldProps) {
  return (
    <div>
      <label for={`f-${name}`}>{label}</label>
      <input id={`f-${name}`} type="datetime-local" name={name} value={value?.slice(0, 16) ?? ''} />
    </div>
  )
}
