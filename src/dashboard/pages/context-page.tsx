/** @module The established context as it was at any step: going through a run's time, step by step. */
import { z } from 'zod'
import type { JsonObject } from '../../../schemas/json.ts'
import { READ_PAYLOADS } from '../../access/access.ts'
import { orRefused, pageRoute } from '../page.ts'
import { Crumbs } from '../parts/crumbs.tsx'
import { Data } from '../parts/data.tsx'
import { Fact } from '../parts/fact.tsx'
import { JsonView } from '../parts/json-view.tsx'
import { contextPath, diffPath, eventPath } from '../paths.ts'
import { Step } from './diff-page.tsx'

export const contextPage = pageRoute({
  path: '/runs/:run/context',
  access: READ_PAYLOADS,
  query: z.object({ step: Step.optional() }),
  handle: async ({ deps, caller, run, query }) => {
    const at = query.step === undefined ? {} : { step: query.step }
    const now = orRefused(await deps.ledger.context(caller, run, {}))
    const found = orRefused(await deps.ledger.context(caller, run, at))
    const body = <ContextBody run={run} found={found} current={Number(now.step)} />
    return { title: `${run}: context of step ${found.step}`, nav: 'runs', body }
  },
})

interface ContextProps {
  readonly run: string
  readonly found: JsonObject
  /** The step that is established now. */
  readonly current: number
}

function ContextBody({ run, found, current }: ContextProps) {
  const step = Number(found.step)
  const agent = String(found.agent)
  return (
    <>
      <Crumbs run={run} here={`Context of step ${step}`} />
      <div class="page-head">
        <div>
          <h1>Context of step {step}</h1>
          <p class="muted">
            {step === current ? 'What is established now.' : `What was established then; now it is step ${current}.`}
          </p>
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
          {agent === '' ? <span class="muted">nobody yet</span> : <Data text={agent} />}
        </Fact>
        <Fact label="Event">
          <a href={eventPath(run, Number(found.revision))}>{Number(found.revision)}</a>
        </Fact>
        <Fact label="Digest">
          <code>{String(found.contextDigest)}</code>
        </Fact>
      </dl>
      <section class="card context" aria-labelledby="context-title">
        <h2 id="context-title">Context</h2>
        <JsonView value={found.context ?? {}} />
      </section>
    </>
  )
}
