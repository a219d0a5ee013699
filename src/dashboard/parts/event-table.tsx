/** @module Events in words: the same window as in the picture, for all readers. */
import { eventPath, type RunPlace, refusalPath } from '../paths.ts'
import type { EventRow } from '../story/event-rows.ts'
import { Actor, Badge, Data, Time } from './data.tsx'

export function EventTable({ run, rows }: { readonly run: RunPlace; readonly rows: readonly EventRow[] }) {
  return (
    <div class="table-scroll">
      <table class="events listed">
        <thead>
          <tr>
            <th scope="col" class="number">
              Event
            </th>
            <th scope="col">What</th>
            <th scope="col">Type</th>
            <th scope="col">Who</th>
            <th scope="col">Time</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row run={run} row={row} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Row({ run, row }: { readonly run: RunPlace; readonly row: EventRow }) {
  const { revision, type, time, text, seal, ...who } = row
  return (
    <tr class={`event event-${type}`} id={`event-${revision}`}>
      <td class="number">
        <a class="event-open" href={eventPath(run, revision)} aria-label={`Event ${revision}`}>
          {revision}
        </a>
      </td>
      <td>
        {seal === 'invalid' && (
          <>
            <Badge kind="bad" text="seal broken" />{' '}
          </>
        )}
        <Data text={text} />
        {type === 'EnvelopeRejected' && (
          <>
            {' '}
            <a class="strong" href={refusalPath(run, revision)}>
              See why
            </a>
          </>
        )}
      </td>
      <td class="muted type">{type}</td>
      <td>
        <Actor {...who} />
      </td>
      <td>
        <Time time={time} />
      </td>
    </tr>
  )
}
