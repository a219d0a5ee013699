/** @module The open waits of a run (decisions, signals, times), the signals that no wait has taken yet, and why no worker carries it on. */
import { plural } from '../format.ts'
import { approvalPath } from '../paths.ts'
import type { Run } from '../run-row.ts'
import { Data, Time } from './data.tsx'
import { WorkerFor } from './not-taken.tsx'

export function Waits({ run }: { readonly run: Run }) {
  const { waiting, heldSignals } = run
  if (waiting.length === 0 && heldSignals.length === 0) return null
  return (
    <div class="notice">
      {waiting.length > 0 && (
        <>
          <h2>The run is waiting: {plural(waiting.length, 'open wait')}</h2>
          <ul>
            {waiting.map((wait) => (
              <li>
                <What run={run} wait={wait} />{' '}
                <span class="muted">
                  since <Time time={wait.since} />
                  {wait.until !== undefined && (
                    <>
                      , until <Time time={wait.until} />
                    </>
                  )}
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
      {heldSignals.length > 0 && (
        <>
          <h2>
            {plural(heldSignals.length, 'signal')} held: no wait has taken {heldSignals.length === 1 ? 'it' : 'them'}{' '}
            yet
          </h2>
          <ul>
            {heldSignals.map(({ name, receivedAt }) => (
              <li>
                <Data text={name} />{' '}
                <span class="muted">
                  <Time time={receivedAt} />
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}

/** The code of the run's last worker could not carry it on. */
export function Stuck({ run }: { readonly run: Run }) {
  const { stuck } = run
  if (stuck === undefined) return null
  return (
    <div class="notice notice-warn">
      <h2>
        The run is stuck: its worker could not carry it on, {plural(stuck.attempts, 'time')} in a row since{' '}
        <Time time={stuck.since} />
      </h2>
      <p>
        <code>
          <Data text={stuck.code} />
        </code>
        : <Data text={stuck.message} />
      </p>
      <p class="muted">
        It is tried again by a <WorkerFor version={run.version} /> after <Time time={stuck.until} />, when something
        comes for it, or at once with{' '}
        <code>
          countersign runs retry <Data text={run.runId} />
        </code>
        .
      </p>
    </div>
  )
}

function What({ run, wait }: { readonly run: Run; readonly wait: Run['waiting'][number] }) {
  const { approvalId, tool = '', name = '' } = wait
  if (approvalId !== undefined) {
    return (
      <a class="strong" href={approvalPath(run, approvalId)}>
        the approval of <Data text={tool} />
      </a>
    )
  }
  if (wait.for === 'time') return <span class="strong">a time</span>
  return (
    <span class="strong">
      the signal <Data text={name} />
    </span>
  )
}
