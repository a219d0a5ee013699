/** @module Parts of the pages about approvals: the list, the facts of one, and the form that decides it. */
import type { Child } from 'hono/jsx'
import { COMMENT_MAX_CHARS } from '../../../schemas/value-forms.ts'
import type { Approval } from '../approval-row.ts'
import { plural } from '../format.ts'
import { approvalPath, runPath } from '../paths.ts'
import { clipped } from '../visible.ts'
import { Actor, Data, Time } from './data.tsx'
import { Fact } from './fact.tsx'

const ARGS_CHARS = 120

export function ApprovalList({ approvals, more }: { readonly approvals: readonly Approval[]; readonly more: boolean }) {
  return (
    <>
      <div class="page-head">
        <div>
          <h1>Approvals</h1>
          <p class="muted">Calls that wait for somebody to approve them: none of them has run.</p>
        </div>
      </div>
      {approvals.length === 0 ? (
        <div class="empty">
          <p class="empty-title">Nothing waits</p>
          <p>
            A call waits here where the policy of its run says so (<code>approve</code>), or the claim itself.
          </p>
        </div>
      ) : (
        <ApprovalTable approvals={approvals} />
      )}
      {more && <p class="muted">The first {approvals.length}; decide on them to see the next.</p>}
    </>
  )
}

function ApprovalTable({ approvals }: { readonly approvals: readonly Approval[] }) {
  return (
    <div class="table-scroll">
      <table class="listed">
        <caption class="visually-hidden">Approvals that can be decided</caption>
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
                <a href={approvalPath(approval.runId, approval.approvalId)}>
                  <Data text={approval.tool} />
                </a>
              </th>
              <td data-label="Arguments">
                <code>
                  <Data text={clipped(approval.argsPreview ?? JSON.stringify(approval.args ?? null), ARGS_CHARS)} />
                </code>
              </td>
              <td data-label="Run">
                <a href={runPath(approval.runId)}>
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

function Requester({ approval: { requestedBy, agent } }: { readonly approval: Approval }) {
  const { actor, principal } = requestedBy
  return (
    <>
      <Actor actor={actor} {...(principal !== undefined && { principal })} />
      {agent !== undefined && (
        <span class="muted">
          {' '}
          (agent <Data text={agent} />)
        </span>
      )}
    </>
  )
}

export function ApprovalFacts({ approval }: { readonly approval: Approval }) {
  const { needs, grants, denial, requestedAt, expiresAt, argsDigest, onDenied } = approval
  return (
    <>
      <dl class="facts">
        <Fact label="Requested by">
          <Requester approval={approval} />
        </Fact>
        <Fact label="Requested">
          <Time time={requestedAt} />
        </Fact>
        <Fact label="Until">
          <Time time={expiresAt} />
        </Fact>
        <Fact label="Digest of the arguments">
          <code>{argsDigest}</code>
        </Fact>
        <Fact label="If denied">
          {onDenied === 'rollback' ? 'the run is rolled back' : 'the call fails, and the run goes on'}
        </Fact>
      </dl>
      <section class="card" aria-labelledby="needs-title">
        <h2 id="needs-title">Who has to approve</h2>
        <ul>
          {needs.map(({ reason, quorum, roles = [], source }) => (
            <li>
              <Data text={reason} />
              <span class="muted">
                {' '}
                ({source}; {plural(quorum, 'person', 'people')}
                {roles.length > 0 && (
                  <>
                    {' of '}
                    <Data text={roles.join(', ')} />
                  </>
                )}
                )
              </span>
            </li>
          ))}
        </ul>
        {grants.map(({ actor, principal }) => (
          <p>
            Approved by <Actor actor={actor} {...(principal !== undefined && { principal })} />
          </p>
        ))}
        {denial !== undefined && (
          <p>
            Denied by{' '}
            <Actor actor={denial.actor} {...(denial.principal !== undefined && { principal: denial.principal })} />
            {denial.comment !== undefined && (
              <>
                {': '}
                <Data text={denial.comment} />
              </>
            )}
          </p>
        )}
      </section>
    </>
  )
}

interface FormOf {
  readonly approval: Approval
  readonly csrf: string
}

export function DecisionForm(form: FormOf) {
  return (
    <ApprovalForm
      {...form}
      ids={{ title: 'decide-title', comment: 'comment' }}
      title="Your decision"
      note="It is signed with your name and holds for exactly these arguments, once."
    >
      <button type="submit" name="decision" value="grant" class="button primary">
        Approve
      </button>{' '}
      <button type="submit" name="decision" value="deny" class="button">
        Deny
      </button>
    </ApprovalForm>
  )
}

export function WithdrawForm(form: FormOf) {
  return (
    <ApprovalForm
      {...form}
      ids={{ title: 'withdraw-title', comment: 'withdraw-comment' }}
      title="Take it back"
      note="Nothing has run by this approval yet. Withdrawn, the call waits for its approval again."
    >
      <button type="submit" name="decision" value="withdraw" class="button">
        Withdraw
      </button>
    </ApprovalForm>
  )
}

interface ApprovalFormProps extends FormOf {
  readonly ids: { readonly title: string; readonly comment: string }
  readonly title: string
  readonly note: string
  /** Its buttons. */
  readonly children: Child
}

/** Posts to the page of the approval, for exactly the arguments that it shows, with a comment. */
function ApprovalForm({ approval, csrf, ids, title, note, children }: ApprovalFormProps) {
  return (
    <form
      method="post"
      action={approvalPath(approval.runId, approval.approvalId)}
      class="card decision"
      aria-labelledby={ids.title}
    >
      <h2 id={ids.title}>{title}</h2>
      <p class="muted">{note}</p>
      <input type="hidden" name="csrf" value={csrf} />
      <input type="hidden" name="argsDigest" value={approval.argsDigest} />
      <label for={ids.comment}>Comment</label>
      <textarea id={ids.comment} name="comment" rows={3} maxlength={COMMENT_MAX_CHARS}></textarea>
      <p>{children}</p>
    </form>
  )
}
