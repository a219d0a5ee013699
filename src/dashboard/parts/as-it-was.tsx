/** @module The notice above every page of a run at a past moment: the moment, its neighbours, and a link to the present. */
import { count, plural } from '../format.ts'
import type { Moment } from '../moment.ts'
import { runPath } from '../paths.ts'
import { Time } from './data.tsx'

export interface AsItWasProps {
  readonly run: string
  readonly moment: Moment | undefined
  /** Revision of the last event of the run now. */
  readonly last?: number | undefined
  /** Address of the same page at present; default: the run. */
  readonly now?: string
}

export function AsItWas({ run, moment, last, now = runPath(run) }: AsItWasProps) {
  if (moment === undefined) return null
  const { revision, treeSize, time } = moment
  const at = (event: number): string => runPath({ runId: run, asOf: `event-${event}` })
  return (
    <aside class="notice as-it-was" id="as-it-was" aria-label="A moment of the past">
      <p>
        <strong>This is the past.</strong> The run as it was{' '}
        {treeSize === undefined || time === undefined ? (
          <>right after its event {count(revision)}</>
        ) : (
          <>
            when the log had {plural(treeSize, 'event')}, at <Time time={time} />: event {count(revision)} was its last
            one
          </>
        )}
        . What came later is left out; broken seals are those known now.
      </p>
      <nav class="pager" aria-label="Moments">
        {revision > 0 && <a href={at(revision - 1)}>One event earlier</a>}
        {(last === undefined || revision < last) && <a href={at(revision + 1)}>One event later</a>}
        <a class="strong" href={now}>
          As it is now
        </a>
      </nav>
    </aside>
  )
}

/** A plain form that opens a run at a moment, without a script. */
export function MomentForm({ run, asOf }: { readonly run: string; readonly asOf: string | undefined }) {
  return (
    <form method="get" action={runPath(run)} class="moment-form">
      <label for="f-moment">As it was at</label>
      <input
        id="f-moment"
        type="text"
        name="asOf"
        value={asOf ?? ''}
        maxlength={64}
        autocomplete="off"
        spellcheck={false}
        title="A time (2026-01-31 12:00, yesterday, or 24h for 24 hours ago), a number of events of the log, or an event of this run: event-12"
        placeholder="time, log size or event-12"
        required
      />
      <button type="submit">Go there</button>
    </form>
  )
}
