/** @module A refused handoff with all its facts: agents, changes, evidence for the refusal, cost, undone calls, and the proof. */
import { READ_PAYLOADS } from '../../access/access.ts'
import { seeOther } from '../answer.tsx'
import { MomentQuery, runThen } from '../moment.ts'
import { pageRoute } from '../page.ts'
import { RefusalBody } from '../parts/refusal-body.tsx'
import { refusalPath, runPath } from '../paths.ts'
import { readRefusal } from '../refused-handoff.ts'
import { storyFor } from '../story/story-cache.ts'
import { revisionOf } from './event-page.tsx'

export const refusalPage = pageRoute({
  path: '/runs/:run/refusals/:revision',
  access: READ_PAYLOADS,
  query: MomentQuery,
  handle: async (view) => {
    const found = await readRefusal(view, revisionOf(view))
    const key = view.deps.ledger.logs?.verifierKey(view.caller.tenant)
    return {
      title: `Refused handoff in ${view.run}`,
      nav: 'runs',
      scripts: ['proof.js'],
      body: <RefusalBody found={found} caller={view.caller} verifierKey={key} />,
    }
  },
})

/** The newest refusal: the target of the badge in the list. */
export const latestRefusal = pageRoute({
  path: '/runs/:run/refusals',
  access: READ_PAYLOADS,
  query: MomentQuery,
  handle: async (view) => {
    const { run, moment } = await runThen(view)
    const window = { from: Math.max(0, run.revision - 1_000), to: run.revision }
    const story = await storyFor(view.deps, view.caller, {
      run: view.run,
      revision: run.revision,
      window,
      isPast: moment !== undefined,
    })
    const last = story.marks.findLast(({ kind }) => kind === 'rejected')
    return seeOther(view.c, last === undefined ? runPath(run) : refusalPath(run, last.revision))
  },
})
