/** @module The queue of approvals, current or at an earlier size of the log. */
import type { Approval } from '../approval-row.ts'
import { plural } from '../format.ts'
import { APPROVALS, approvalPath, approvalsPath, runPath } from '../paths.ts'
import { clipped } from '../visible.ts'
import { Requester } from './approval.tsx'
import { Data, Time } from './data.tsx'

const ARGS_CHARS = 120

export interface ApprovalListProps {
  readonly approvals: readonly Approval[]
  readonly more: boolean
  /** Size of the log at the shown moment; absent for the present. */
  readonly asOf?: number | undefined
  /** For the past: address of the next page. */
  readonly next?: string | undefined
  /** For the past: whether this is the first page. Default true. */
  readonly isFirst?: boolean
}

export function ApprovalList({ approvals, more, asOf, next, isFirst = true }: ApprovalListProps) {
  return (
    <>
      <div class="page-head">
        <div>
          <h1>Approvals</h1>
          <p class="muted">
            {asOf === undefined
              ? 'Calls that wait for somebody to approve them: none of them has run.'
              : 'Calls that waited for somebody to approve them.'}
          </p>
        </div>
        <QueueMoment asOf={asOf} />
      </div>
      {asOf !== undefined && <QueueAsItWas asOf={asOf} />}
      {approvals.length === 0 ? (
        <Nothing asOf={asOf} more={more} />
      ) : (
        <ApprovalTable approvals={approvals} asOf={asOf} />
      )}
      {asOf === undefined && more && <p class="muted">The first {approvals.length}; decide on them to see the next.</p>}
      {asOf !== undefined && (
        <nav class="pager" aria-label="Pages">
          {!isFirst && <a href={approvalsPath(asOf)}>Newest</a>}
          {next !== undefined && (
            <a href={next} rel="next">
              Older requests
            </a>
          )}
        </nav>
      )}
    </>
  )
}

/** A plain form, so that it works without a script. */
function QueueMoment({ asOf }: { readonly asOf: number | undefined }) {
  return (
    <form method="get" action={APPROVALS} class="moment-form">
      <label for="f-asOf">As of so many events</label>
      <input
        id="f-asOf"
        type="text"
        name="asOf"
        inputmode="numeric"
        value={asOf === undefined ? '' : String(asOf)}
        maxlength={15}
        autocomplete="off"
        title="What waited when the log had so many events"
        required
      />
      <button type="submit">Go there</button>
    </form>
  )
}

function QueueAsItWas({ asOf }: { readonly asOf: number }) {
  return (
    <aside class="notice as-it-was" id="as-it-was" aria-label="A moment of the past">
      <p>
        <strong>This is the past.</strong> What could be decided when the log had {plural(asOf, 'event')}, the newest
        request first: what was requested later is not listed, and an approval or a run opens as it was then.
      </p>
      <nav class="pager" aria-label="Moments">
        <a class="strong" href={APPROVALS}>
          What waits now
        </a>
      </nav>
    </aside>
  )
}

function Nothing({ asOf, more }: Pick<ApprovalListProps, 'asOf' | 'more'>) {
  if (more) {
    return (
      <div class="empty">
        <p class="empty-title">None of the requests that this page looked at waited then: go on to older ones</p>
      </div>
    )
  }
  return (
    <div class="empty">
      <p class="empty-title">{asOf === undefined ? 'Nothing waits' : 'Nothing waited'}</p>
      <p>
        A call waits here where the policy of its run says so (<code>approve</code>), or the claim itself.
      </p>
    </div>
  )
}

function ApprovalTable({ approvals, asOf }: Pick<ApprovalListProps, 'approvals' | 'asOf'>) {
  const of = (runId: string) => ({ runId, asOf: asOf === undefined ? undefined : String(asOf) })
  return (
    <div class="table-scroll">
      <table class="listed">
        <caption class="visually-hidden">
          {asOf === undefined ? 'Approvals that can be decided' : 'Approvals that could be decided'}
        </caption>
        <thead>
          <tr>
            {['Call', 'Arguments', 'Run', 'Requested by', 'Why', 'Until'].map((title) => (
              <th scope="col">{title}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {approvals.map((approval) => (
            <tr>
              <th scope="row">
                <a href={approvalPath(of(approval.runId), approval.approvalId)}>
                  <Data text={approval.tool} />
                </a>
              </th>
              <td data-label="Arguments">
                <code>
                  <Data text={clipped(approval.argsPreview ?? JSON.stringify(approval.args ?? null), ARGS_CHARS)} />
                </code>
              </td>
              <td data-label="Run">
                <a href={runPath(of(approval.runId))}>
                  <Data text={approval.runId} />
                </a>
              </td>
              <td data-label="Requested by">
                <Requester approval={approval} />
              </td>
              <td data-label="Why">
                <Data text={approval.needs.map(({ reason }) => reason).join('; ')} />
              </td>
              <td data-label="Until">
                <Time time={approval.expiresAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
