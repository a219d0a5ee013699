/** @module The changes between two steps of a run, with the validator's findings for them as a single change. */
import { z } from 'zod'
import type { ContextAnswer } from '../../../schemas/answers/runs.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Supersession } from '../../../schemas/values.ts'
import { READ_PAYLOADS } from '../../access/access.ts'
import { validateHandoff } from '../../domain/validator/validate.ts'
import { diffContexts } from '../diff/context-diff.ts'
import { DiffTable } from '../diff/diff-table.tsx'
import { plural } from '../format.ts'
import { MomentQuery, momentOf, within } from '../moment.ts'
import { orRefused, pageRoute, type View } from '../page.ts'
import { AsItWas } from '../parts/as-it-was.tsx'
import { Crumbs } from '../parts/crumbs.tsx'
import { diffPath, eventPath, runPath } from '../paths.ts'

export const Step = z
  .string()
  .regex(/^\d{1,9}$/, 'takes the number of a step')
  .transform(Number)

const DiffQuery = MomentQuery.extend({ from: Step, to: Step })
type DiffQuery = z.output<typeof DiffQuery>

const ENVELOPES_PAGE = 500

export const diffPage = pageRoute({
  path: '/runs/:run/diff',
  access: READ_PAYLOADS,
  query: DiffQuery,
  handle: async (view) => {
    const { run: runId, query } = view
    const moment = await momentOf(view)
    const run = { runId, asOf: moment?.asOf }
    const [from, to] = await Promise.all([contextAt(view, query.from), contextAt(view, query.to)])
    within(moment, Math.max(from.revision, to.revision))
    const { policy, declared = [] } = orRefused(await view.deps.ledger.run(view.caller, runId))
    const supersedes = await reasonsBetween(view, from, to)
    const inForce = declared.filter(({ step }) => step <= to.step)
    const judged = validateHandoff({ before: from.context, after: to.context, policy, supersedes, inForce })
    const diff = diffContexts(from.context, to.context, { findings: judged.findings, supersedes })
    const title = `${runId}: step ${from.step} to step ${to.step}`
    return {
      title,
      nav: 'runs',
      body: (
        <>
          <AsItWas run={runId} moment={moment} now={diffPath(runId, from.step, to.step)} />
          <Crumbs run={run} here={`Step ${from.step} to step ${to.step}`} />
          <div class="page-head">
            <h1>
              Step {from.step} to step {to.step}
            </h1>
            <StepForm run={run} query={query} />
          </div>
          <p class="muted">
            {diff.changes === 0 ? 'Nothing changed.' : `${plural(diff.changes, 'change')}.`}{' '}
            <a href={eventPath(run, from.revision)}>Event {from.revision}</a> to{' '}
            <a href={eventPath(run, to.revision)}>event {to.revision}</a>. Findings are what the policy of the run says
            of this change taken in one go; what was found at each handoff is in its own event.
          </p>
          <DiffTable diff={diff} beforeTitle={`Step ${from.step}`} afterTitle={`Step ${to.step}`} />
        </>
      ),
    }
  },
})

async function contextAt({ deps, caller, run }: View, step: number): Promise<ContextAnswer> {
  return orRefused(await deps.ledger.context(caller, run, { step }))
}

/** Reasons given by accepted handoffs between the two steps. */
async function reasonsBetween(
  { deps, caller, run }: View,
  from: ContextAnswer,
  to: ContextAnswer,
): Promise<readonly Supersession[]> {
  if (to.revision <= from.revision) return []
  const reasons: Supersession[] = []
  for (let after: unknown = from.revision; typeof after === 'number' && after < to.revision; ) {
    const page = orRefused(await deps.ledger.envelopes(caller, run, { after, limit: ENVELOPES_PAGE }))
    for (const item of page.items as readonly JsonObject[]) {
      if (item.accepted !== true || Number(item.revision) > to.revision) continue
      reasons.push(...((item.supersedes ?? []) as unknown as readonly Supersession[]))
    }
    after = page.next
  }
  return reasons
}

interface StepFormProps {
  readonly run: { readonly runId: string; readonly asOf?: string | undefined }
  readonly query: DiffQuery
}

function StepForm({ run, query: { from, to } }: StepFormProps) {
  return (
    <form method="get" action={`${runPath(run.runId)}/diff`} class="step-form">
      {run.asOf !== undefined && <input type="hidden" name="asOf" value={run.asOf} />}
      {from > 0 && <a href={diffPath(run, from - 1, to - 1)}>One step back</a>}
      <label for="from">From</label>
      <input id="from" type="number" name="from" value={String(from)} min="0" />
      <label for="to">to</label>
      <input id="to" type="number" name="to" value={String(to)} min="0" />
      <button type="submit">Compare</button>
    </form>
  )
}
