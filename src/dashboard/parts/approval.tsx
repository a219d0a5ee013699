/** @module Parts of an approval's page: its facts, and the forms for the decision. */
import type { Child } from 'hono/jsx'
import { COMMENT_MAX_CHARS } from '../../../schemas/value-forms.ts'
import type { Approval } from '../approval-row.ts'
import { plural } from '../format.ts'
import { approvalPath } from '../paths.ts'
import { Actor, Data, Time } from './data.tsx'
import { Fact } from './fact.tsx'

export function Requester({ approval: { requestedBy, agent } }: { readonly approval: Approval }) {
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
  /** Buttons of the form. */
  readonly children: Child
}

/** Posts a decision with a comment to the approval's page, for exactly the arguments that the page shows. */
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
