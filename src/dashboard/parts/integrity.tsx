/** @module Recorded integrity faults and the progress of the scrub, for the log's page. */
import type { IntegrityState } from '../../ledger/integrity/integrity.ts'
import { count, plural } from '../format.ts'
import { eventPath, runPath } from '../paths.ts'
import { Badge, Data, Time } from './data.tsx'

const SHOWN = 100

export function IntegrityCard({ state }: { readonly state: IntegrityState }) {
  const { faults, acknowledged, scrub } = state
  const { lastPass, passSince, days } = scrub
  return (
    <section class="card" aria-labelledby="integrity">
      <h2 id="integrity">Was anything altered?</h2>
      {faults.length === 0 ? (
        <p>
          <NothingBroken scrub={scrub} />
        </p>
      ) : (
        <FaultTable faults={faults.slice(0, SHOWN)} more={faults.length - SHOWN} />
      )}
      {acknowledged.length > 0 && <Acknowledged events={acknowledged} />}
      <p class="muted">
        {lastPass === undefined ? (
          'The scrub has not read the whole store yet.'
        ) : (
          <>
            The scrub last read the whole store from <Time time={lastPass.startedAt} /> to{' '}
            <Time time={lastPass.endedAt} />: {count(lastPass.leaves)} events of this tenant.
          </>
        )}
        {passSince !== undefined && (
          <>
            {' '}
            A pass is under way since <Time time={passSince} />.
          </>
        )}
        {days === 0 && ' It does not run here (--scrub-days 0).'}
      </p>
    </section>
  )
}

/** The badge is green only after the first whole pass of the scrub: before it, the state is unknown. */
export function NothingBroken({ scrub, past = 0 }: Pick<IntegrityState, 'scrub'> & { readonly past?: number }) {
  const isRead = scrub.lastPass !== undefined
  return (
    <>
      <Badge kind={isRead ? 'good' : 'open'} text={isRead ? 'nothing found' : 'not read yet'} />{' '}
      {past === 0
        ? 'No event is recorded as broken.'
        : `${plural(past, 'event')} once recorded as broken: the whole store was read since, and is whole.`}
    </>
  )
}

/** Losses that were acknowledged. They stay, whatever the scrub finds. */
function Acknowledged({ events }: { readonly events: IntegrityState['acknowledged'] }) {
  return (
    <>
      <p>
        <Badge kind="open" text="lost for good" /> {plural(events.length, 'loss', 'losses')} acknowledged: the log went
        on past {events.length === 1 ? 'it' : 'them'}, and what crosses {events.length === 1 ? 'it' : 'them'} stays
        incomplete.
      </p>
      <ul>
        {events.slice(0, SHOWN).map(({ stream, revision, to = revision }) => (
          <li>
            <Data text={`${stream} @ ${revision}${to === revision ? '' : ` to ${to}`}`} />
          </li>
        ))}
      </ul>
      {events.length > SHOWN && <p class="muted">and {count(events.length - SHOWN)} more</p>}
    </>
  )
}

function FaultTable({ faults, more }: { readonly faults: IntegrityState['faults']; readonly more: number }) {
  return (
    <div class="table-scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Event</th>
            <th scope="col">Failed check</th>
            <th scope="col">Recorded since</th>
          </tr>
        </thead>
        <tbody>
          {faults.map(({ stream, revision, run, code, foundAt, pastSince, acknowledged }) => (
            <tr>
              <th scope="row">
                {run === undefined ? (
                  <Data text={`${stream} @ ${revision}`} />
                ) : (
                  <>
                    <a href={runPath(run)}>
                      <Data text={run} />
                    </a>{' '}
                    <a href={eventPath(run, revision)}>event {revision}</a>
                  </>
                )}
              </th>
              <td>
                <Badge kind={pastSince === undefined && acknowledged !== true ? 'bad' : 'open'} text={code} />
                {acknowledged === true && <span class="muted"> acknowledged as lost</span>}
                {pastSince !== undefined && (
                  <span class="muted">
                    {' '}
                    past: the store was whole at <Time time={pastSince} />
                  </span>
                )}
              </td>
              <td>
                <Time time={foundAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {more > 0 && <p class="muted">and {count(more)} more</p>}
    </div>
  )
}
