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
import { count } from '../format.ts'
import { type Moment, MomentQuery, momentOf } from '../moment.ts'
import { orRefused, pageRoute, Refused, type View } from '../page.ts'
import { ApprovalFacts, DecisionForm, WithdrawForm } from '../parts/approval.tsx'
import { ApprovalList, type ApprovalListProps } from '../parts/approval-list.tsx'
import { AsItWas } from '../parts/as-it-was.tsx'
import { Crumbs } from '../parts/crumbs.tsx'
import { Badge, Data } from '../parts/data.tsx'
import { JsonView } from '../parts/json-view.tsx'
import { BudgetFacts } from '../parts/run-head.tsx'
import { type Taken, TakenAnswer } from '../parts/taken-answer.tsx'
import { Unreadable } from '../parts/unreadable.tsx'
import { approvalPath, approvalsPath } from '../paths.ts'
import { type Run, runOf } from '../run-row.ts'
import { asOfIn } from './audit-filters.ts'
import { auditOf } from './audit-query.ts'

/** Number of approvals shown; the API and the command line list all. */
const QUEUE_SHOWN = 50
/** All that happened to approvals; what waits is what was requested and has no later event. */
const TAKEN: readonly Taken[] = [
  {
    name: 'events',
    label: 'Every request on record, and what became of it',
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
