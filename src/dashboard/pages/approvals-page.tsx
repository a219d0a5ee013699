/** @module Pending approvals: the queue, one approval with all the facts for a decision, and the decision. Works without scripts. */
import { z } from 'zod'
import type { ContextAnswer } from '../../../schemas/answers/runs.ts'
import { DecideApproval } from '../../../schemas/approval.ts'
import { DECIDE_APPROVALS, READ_ALL_APPROVALS, READ_APPROVALS, READ_RUNS, READ_TENANT } from '../../access/access.ts'
import { mayOpen } from '../../access/check-access.ts'
import { isGranted } from '../../domain/approvals.ts'
import type { WaitingPage } from '../../ledger/ledger.ts'
import { seeOther } from '../answer.tsx'
import { type Approval, approvalOf } from '../approval-row.ts'
import { diffContexts } from '../diff/context-diff.ts'
import { DiffTable } from '../diff/diff-table.tsx'
import { count, plural } from '../format.ts'
import { type Moment, MomentQuery, momentOf } from '../moment.ts'
import { orRefused, pageRoute, Refused, type View } from '../page.ts'
import { ApprovalFacts, DecisionForm, Requester, WithdrawForm } from '../parts/approval.tsx'
import { AsItWas } from '../parts/as-it-was.tsx'
import { Crumbs } from '../parts/crumbs.tsx'
import { Badge, Data, Time } from '../parts/data.tsx'
import { JsonView } from '../parts/json-view.tsx'
import { BudgetFacts } from '../parts/run-head.tsx'
import { type Taken, TakenAnswer } from '../parts/taken-answer.tsx'
import { Unreadable } from '../parts/unreadable.tsx'
import { APPROVALS, approvalPath, approvalsPath, runPath } from '../paths.ts'
import { type Run, runOf } from '../run-row.ts'
import { clipped } from '../visible.ts'
import { asOfIn } from './audit-filters.ts'
import { auditOf } from './audit-query.ts'

/** Number of approvals shown; the API and the command line list all. */
const QUEUE_SHOWN = 50
/** All that happened to approvals; what waits is what was requested and has no later event. */
const TAKEN: readonly Taken[] = [
  {
    name: 'events',
    label: 'Every recorded request, and what became of it',
    params: { types: 'ApprovalRequested,ApprovalGranted,ApprovalDenied,ApprovalExpired,ApprovalWithdrawn' },
  },
]

const QueueQuery = z.object({
  /** Size of the log at the shown moment. */
  asOf: z.string().max(15).optional(),
  /** Cursor of a page of the past: the leaf of a request, and the last event of that log. */
  place: z
    .string()
    .regex(/^\d{1,15}~[0-9a-f-]{36}$/, 'this is no place in the list')
    .optional(),
})

export const approvalQueue = pageRoute({
  path: '/approvals',
  access: READ_ALL_APPROVALS,
  query: QueueQuery,
  handle: async (view) => {
    const asOf = asOfIn(view.query.asOf)
    const { items, unreadable, ...queue } = await (asOf === undefined ? presentQueue(view) : pastQueue(view, asOf))
    view.noted.count = items.length
    return {
      title: 'Approvals',
      nav: 'approvals',
      body: (
        <>
          <Unreadable runs={unreadable} />
          <ApprovalList approvals={items.map(approvalOf)} {...queue} asOf={asOf} />
          {mayOpen(READ_TENANT, view.caller) && (
            <TakenAnswer
              view={view}
              question="Approvals: calls that wait for somebody to approve them"
              answers={TAKEN}
              treeSize={asOf}
            />
          )}
        </>
      ),
    }
  },
})

type QueueView = View<z.output<typeof QueueQuery>>
type Queue = Pick<WaitingPage, 'items' | 'unreadable'> & Pick<ApprovalListProps, 'more' | 'next' | 'isFirst'>

async function presentQueue({ deps, caller }: QueueView): Promise<Queue> {
  const { next, ...queue } = orRefused(await deps.ledger.pendingApprovals(caller, { limit: QUEUE_SHOWN }))
  return { ...queue, more: next !== undefined }
}

async function pastQueue(view: QueueView, treeSize: number): Promise<Queue> {
  const { place } = view.query
  const [after, eventId] = place?.split('~') ?? []
  const from = after === undefined ? {} : { after: Number(after), eventId }
  const found = await auditOf(view).approvals(view.caller, { treeSize, limit: QUEUE_SHOWN, ...from })
  if (!found.ok) throw new Refused({ code: found.code, detail: found.detail })
  const { items, unreadable, next, asOf } = found
  const older = next === undefined ? undefined : approvalsPath(treeSize, `${next}~${asOf.eventId}`)
  return {
    items,
    ...(unreadable && { unreadable }),
    more: next !== undefined,
    next: older,
    isFirst: place === undefined,
  }
}

export const approvalPage = pageRoute({
  path: '/runs/:run/approvals/:approval',
  access: READ_APPROVALS,
  query: MomentQuery,
  handle: async (view) => {
    const { deps, caller, run } = view
    const approvalId = approvalIn(view)
    const moment = await momentOf(view)
    const approval = approvalOf(orRefused(await deps.ledger.approval(caller, run, approvalId, moment)))
    const around = mayOpen(READ_RUNS, caller, run) ? await aroundIt(view, moment) : undefined
    const mayDecide = moment === undefined && mayOpen(DECIDE_APPROVALS, caller, run)
    const decides = mayDecide && approval.status === 'pending'
    const withdraws = mayDecide && isGranted(approval)
    return {
      title: `Approval of ${approval.tool}`,
      nav: 'approvals',
      body: (
        <>
          <AsItWas run={run} moment={moment} now={approvalPath(run, approvalId)} />
          <Crumbs run={{ runId: run, asOf: moment?.asOf }} here="Approval" />
          <div class="page-head">
            <h1>
              <Data text={approval.tool} />{' '}
              <Badge kind={approval.status === 'denied' ? 'bad' : approval.status} text={approval.status} />
            </h1>
          </div>
          <div class="stack">
            <ApprovalFacts approval={approval} />
            <section class="card" aria-labelledby="arguments-title">
              <h2 id="arguments-title">Arguments</h2>
              <Arguments approval={approval} />
            </section>
            {decides && <DecisionForm approval={approval} csrf={view.session.csrf} />}
            {withdraws && <WithdrawForm approval={approval} csrf={view.session.csrf} />}
            {around !== undefined && <Around {...around} />}
          </div>
        </>
      ),
    }
  },
})

/** The form states which arguments its reader saw: a decision on different arguments is refused. */
export const decideApproval = pageRoute({
  path: '/runs/:run/approvals/:approval',
  method: 'post',
  access: DECIDE_APPROVALS,
  query: z.object({}),
  handle: async (view) => {
    const { c, deps, caller, run, form } = view
    const approvalId = approvalIn(view)
    const comment = form.get('comment') ?? ''
    const body = DecideApproval.safeParse({
      argsDigest: form.get('argsDigest'),
      ...(comment.trim() !== '' && { comment }),
    })
    const kind = form.get('decision')
    if (!body.success || (kind !== 'grant' && kind !== 'deny' && kind !== 'withdraw')) {
      const detail = body.error?.issues[0]?.message ?? 'The form says neither yes nor no.'
      throw new Refused({ code: 'invalid-body', detail })
    }
    const outcome = await deps.ledger.execute(caller, run, { kind, approvalId, body: body.data }, {})
    if (!outcome.ok) throw new Refused(outcome.refusal)
    return seeOther(c, approvalPath(run, approvalId))
  },
})

function Arguments({ approval: { args = null, argsPreview, argsRef } }: { readonly approval: Approval }) {
  if (argsRef === undefined) return <JsonView value={args} />
  return (
    <>
      <p class="notice notice-warn">
        These are {count(argsRef.bytes)} bytes, too many to be shown here: this is how they begin. You decide on the
        digest of all of them; read the rest by <code>GET /v1/runs/…/values/{argsRef.digest}</code> first.
      </p>
      <pre class="data">
        <Data text={argsPreview ?? ''} />
      </pre>
    </>
  )
}

function approvalIn({ c }: View): string {
  return c.req.param('approval') ?? ''
}

interface AroundIt {
  readonly run: Run
  readonly before: ContextAnswer
  readonly after: ContextAnswer
}

/** The run's context at the moment, and the change by its last step. */
async function aroundIt({ deps, caller, run }: View, moment: Moment | undefined): Promise<AroundIt> {
  const at = moment === undefined ? {} : { revision: moment.revision }
  const after = orRefused(await deps.ledger.context(caller, run, at))
  const { step } = after
  const before = step === 0 ? after : orRefused(await deps.ledger.context(caller, run, { step: step - 1 }))
  return { run: runOf(orRefused(await deps.ledger.run(caller, run, moment))), before, after }
}

function Around({ run, before, after }: AroundIt) {
  const diff = diffContexts(before.context, after.context, { findings: [], supersedes: [] })
  return (
    <>
      <section class="card" aria-labelledby="budget-title">
        <h2 id="budget-title">Budget of the run</h2>
        <dl class="facts">
          <BudgetFacts run={run} />
        </dl>
      </section>
      <section aria-labelledby="changed-title">
        <h2 id="changed-title">What the last handoff changed</h2>
        {diff.changes === 0 ? (
          <p class="muted">Nothing: no handoff has changed the context.</p>
        ) : (
          <DiffTable diff={diff} beforeTitle={`Step ${before.step}`} afterTitle={`Step ${after.step}`} />
        )}
      </section>
    </>
  )
}

// The queue of approvals, current or at an earlier size of the log.

const ARGS_CHARS = 120

interface ApprovalListProps {
  readonly approvals: readonly Approval[]
  readonly more: boolean
  /** Size of the log at the shown moment; absent for the present. */
  readonly asOf?: number | undefined
  /** For the past: address of the next page. */
  readonly next?: string | undefined
  /** For the past: whether this is the first page. Default true. */
  readonly isFirst?: boolean
}

function ApprovalList({ approvals, more, asOf, next, isFirst = true }: ApprovalListProps) {
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
