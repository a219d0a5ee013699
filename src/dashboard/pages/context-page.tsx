/** @module The established context at any step of a run. */
import type { ContextAnswer } from '../../../schemas/answers/runs.ts'
import { READ_PAYLOADS } from '../../access/access.ts'
import { type Moment, MomentQuery, momentOf, within } from '../moment.ts'
import { orRefused, pageRoute } from '../page.ts'
import { AsItWas } from '../parts/as-it-was.tsx'
import { Crumbs } from '../parts/crumbs.tsx'
import { Data } from '../parts/data.tsx'
import { Fact } from '../parts/fact.tsx'
import { JsonView } from '../parts/json-view.tsx'
import { contextPath, diffPath, eventPath } from '../paths.ts'
import { Step } from './diff-page.tsx'

export const contextPage = pageRoute({
  path: '/runs/:run/context',
  access: READ_PAYLOADS,
  query: MomentQuery.extend({ step: Step.optional() }),
  handle: async (view) => {
    const { deps, caller, run, query } = view
    const moment = await momentOf(view)
    const latest = moment === undefined ? {} : { revision: moment.revision }
    const now = orRefused(await deps.ledger.context(caller, run, latest))
    const found =
      query.step === undefined ? now : orRefused(await deps.ledger.context(caller, run, { step: query.step }))
    if (query.step !== undefined) within(moment, found.revision)
    const body = <ContextBody run={run} moment={moment} found={found} current={now.step} />
    return { title: `${run}: context of step ${found.step}`, nav: 'runs', body }
  },
})

function established(step: number, current: number, moment: Moment | undefined): string {
  const [when, is] = moment === undefined ? ['now', 'now it is'] : ['at that moment', 'at that moment it was']
  return step === current
    ? `What ${moment === undefined ? 'is' : 'was'} established ${when}.`
    : `What was established then; ${is} step ${current}.`
}

interface ContextProps {
  readonly run: string
  readonly moment: Moment | undefined
  readonly found: ContextAnswer
  /** The latest step at the shown moment. */
  readonly current: number
}

function ContextBody({ run: runId, moment, found, current }: ContextProps) {
  const run = { runId, asOf: moment?.asOf }
  const { step, agent } = found
  return (
    <>
      <AsItWas run={runId} moment={moment} now={contextPath(runId, step)} />
      <Crumbs run={run} here={`Context of step ${step}`} />
      <div class="page-head">
        <div>
          <h1>Context of step {step}</h1>
          <p class="muted">{established(step, current, moment)}</p>
        </div>
        <nav class="pager" aria-label="Steps">
          {step > 0 && <a href={contextPath(run, step - 1)}>Step {step - 1}</a>}
          {step < current && <a href={contextPath(run, step + 1)}>Step {step + 1}</a>}
          {step > 0 && <a href={diffPath(run, step - 1, step)}>What step {step} changed</a>}
          {step !== current && <a href={diffPath(run, step, current)}>What changed since</a>}
        </nav>
      </div>
      <dl class="facts">
        <Fact label="Handed over by">
          {agent === '' ? <span class="muted">no agent yet</span> : <Data text={agent} />}
        </Fact>
        <Fact label="As of event">
          <a href={eventPath(run, found.revision)}>{found.revision}</a>
        </Fact>
        <Fact label="Digest">
          <code>{found.contextDigest}</code>
        </Fact>
      </dl>
      <section class="card context" aria-labelledby="context-title">
        <h2 id="context-title">Context</h2>
        <JsonView value={found.context} />
      </section>
    </>
  )
}
