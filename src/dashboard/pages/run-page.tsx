/** @module A run: its facts, its notices, its picture, and its events in words. */
import { z } from 'zod'
import { READ_RUNS, READ_TENANT } from '../../access/access.ts'
import { mayOpen } from '../../access/check-access.ts'
import { type Moment, MomentQuery, runThen } from '../moment.ts'
import { pageRoute, type View } from '../page.ts'
import { AsItWas, MomentForm } from '../parts/as-it-was.tsx'
import { Pager } from '../parts/event-pager.tsx'
import { EventTable } from '../parts/event-table.tsx'
import { LiveStatus } from '../parts/live-status.tsx'
import { RunHead } from '../parts/run-head.tsx'
import { RunNotices } from '../parts/run-notices.tsx'
import { StepTable } from '../parts/step-table.tsx'
import { ToolTable } from '../parts/tool-table.tsx'
import { auditPath, livePath, ofLog, withQuery } from '../paths.ts'
import { layoutPicture } from '../picture/layout.ts'
import { Legend } from '../picture/legend.tsx'
import { Overview } from '../picture/overview.tsx'
import { RunPicture } from '../picture/run-picture.tsx'
import { isDamaged } from '../read-event.ts'
import type { Run } from '../run-row.ts'
import { type EventRow, eventRows } from '../story/event-rows.ts'
import { storyFor } from '../story/story-cache.ts'
import type { RunStory } from '../story/story-parts.ts'
import { damagedRun } from './damaged-run.tsx'
import { livePlace } from './live.ts'

/** Events per page: as many as fit into a readable picture. */
export const WINDOW_EVENTS = 200

const RunPageQuery = MomentQuery.extend({
  from: z
    .string()
    .regex(/^\d{1,15}$/, 'takes the number of an event')
    .transform(Number)
    .optional(),
  scale: z.enum(['steps', 'time'], 'takes steps or time').default('steps'),
})

type RunPageQuery = z.output<typeof RunPageQuery>

export const runPage = pageRoute({
  path: '/runs/:run',
  access: READ_RUNS,
  query: RunPageQuery,
  handle: async (view) => {
    const { caller, deps, run: runId } = view
    const state = await deps.ledger.run(caller, runId)
    if (!state.ok && isDamaged(state.refusal)) return damagedRun(view, state.refusal.detail)
    const place = await livePlace(deps.ledger, caller)
    const { run, moment, last } = await runThen(view)
    const window = windowOf(view.query.from, run.revision)
    const isPast = moment !== undefined
    const story = await storyFor(deps, caller, { run: runId, revision: run.revision, window, isPast })
    const rows = await eventRows(deps.ledger, caller, { run: runId, story, ...window })
    return {
      title: run.runId,
      nav: 'runs',
      // A view of the past does not change.
      scripts: ['picture.js', ...(isPast ? [] : ['live.js']), 'event-detail.js', 'zones.js'],
      body: <RunBody {...{ view, run, moment, last, story, window, rows, place }} />,
    }
  },
})

/** The newest events by default. */
function windowOf(from: number | undefined, revision: number): { readonly from: number; readonly to: number } {
  const newest = Math.max(0, Math.floor(revision / WINDOW_EVENTS) * WINDOW_EVENTS)
  const start = from === undefined || from > revision ? newest : from
  return { from: start, to: Math.min(revision, start + WINDOW_EVENTS - 1) }
}

interface BodyProps {
  readonly view: View<RunPageQuery>
  readonly run: Run
  readonly moment: Moment | undefined
  readonly last: number
  readonly story: RunStory
  readonly window: { readonly from: number; readonly to: number }
  readonly rows: readonly EventRow[]
  readonly place: string | undefined
}

function RunBody({ view, run, moment, last, story, window, rows, place }: BodyProps) {
  const { limits, currency } = run.budget
  const { scale } = view.query
  const picture = layoutPicture(story, { window, scale, limits })
  const whole = story.first === 0
  return (
    <>
      <AsItWas run={run.runId} moment={moment} last={last} />
      {/* Outside the live part: an update must not discard text that is being typed. */}
      <MomentForm run={run.runId} asOf={run.asOf} />
      {moment === undefined && <LiveStatus />}
      <div id="live" {...(moment === undefined && { 'data-live': withQuery(livePath(run.runId), { after: place }) })}>
        <RunHead run={run} caller={view.caller} csrf={view.session.csrf} />
        <RunNotices run={run} story={story} />
        <section aria-labelledby="picture-title">
          <div class="section-head">
            <h2 id="picture-title">What happened</h2>
            <Pager run={run} window={window} scale={scale} size={WINDOW_EVENTS} />
          </div>
          {whole && run.revision >= WINDOW_EVENTS && (
            <Overview run={run} story={story} window={window} size={WINDOW_EVENTS} />
          )}
          {!whole && (
            <p class="notice">
              This run is long: the picture is made of events {window.from} to {window.to} alone. The totals above are
              those of the whole run.
            </p>
          )}
          <RunPicture run={run} picture={picture} currency={currency} />
          <Legend picture={picture} />
        </section>
        <section aria-labelledby="steps-title">
          <h2 id="steps-title">Handoffs</h2>
          <StepTable run={run} story={story} window={window} />
        </section>
        <ToolTable run={run} story={story} />
        <section aria-labelledby="events-title">
          <div class="section-head">
            <h2 id="events-title">Events</h2>
            {mayOpen(READ_TENANT, view.caller) && (
              <a href={withQuery(auditPath('events'), { run: run.runId, asOf: ofLog(run.asOf) })}>Filter them</a>
            )}
          </div>
          <EventTable run={run} rows={rows} />
          <div class="section-foot">
            <Pager run={run} window={window} scale={scale} size={WINDOW_EVENTS} label="Events shown, below the table" />
          </div>
        </section>
      </div>
    </>
  )
}
