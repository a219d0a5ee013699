/** @module A run: its facts, its notices, its picture, and its events in words. */
import { z } from 'zod'
import { READ_RUNS, READ_TENANT } from '../../access/access.ts'
import { mayOpen } from '../../access/check-access.ts'
import { withTimeout } from '../../resources/with-timeout.ts'
import { count, lasted } from '../format.ts'
import { type Moment, MomentQuery, runThen } from '../moment.ts'
import { openChildren } from '../open-child.ts'
import { pageRoute, type View } from '../page.ts'
import { AsItWas, MomentForm } from '../parts/as-it-was.tsx'
import { Badge, Data } from '../parts/data.tsx'
import { EventTable } from '../parts/event-table.tsx'
import { LiveStatus } from '../parts/live-status.tsx'
import { isLate } from '../parts/not-taken.tsx'
import { RunHead } from '../parts/run-head.tsx'
import { type Attention, RunNotices } from '../parts/run-notices.tsx'
import { StepTable } from '../parts/step-table.tsx'
import { auditPath, eventPath, livePath, ofLog, type RunPlace, runPath, withQuery } from '../paths.ts'
import { layoutPicture } from '../picture/layout.ts'
import { Legend } from '../picture/legend.tsx'
import { Overview } from '../picture/overview.tsx'
import { RunPicture } from '../picture/run-picture.tsx'
import { isDamaged } from '../read-event.ts'
import { type Row, type Run, rowOf, unsettledOf } from '../run-row.ts'
import { type EventRow, eventRows } from '../story/event-rows.ts'
import { storyFor } from '../story/story-cache.ts'
import type { RunStory } from '../story/story-parts.ts'
import { type ToolTimes, toolTimes } from '../story/tool-times.ts'
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
    const attention = isPast ? NOTHING_MORE : await attentionOf(view, run)
    const rows = await eventRows(deps.ledger, caller, { run: runId, story, ...window })
    return {
      title: run.runId,
      nav: 'runs',
      // A view of the past does not change.
      scripts: ['picture.js', ...(isPast ? [] : ['live.js']), 'event-detail.js', 'zones.js'],
      body: <RunBody {...{ view, run, moment, last, story, window, rows, place, attention }} />,
    }
  },
})

const NOTHING_MORE: Attention = { openChildren: new Map() }

/** What other runs, and the list of runs, say of a run that is open now. */
async function attentionOf(view: View, run: Run): Promise<Attention> {
  if (run.status !== 'open') return NOTHING_MORE
  const { inDoubt, overdue } = unsettledOf(run)
  const unsettled = new Set([...inDoubt, ...overdue].map(({ callId }) => callId))
  const calls = run.children.filter(({ callId }) => unsettled.has(callId))
  const children = await openChildren(
    view,
    calls.map(({ callId, run: child }) => ({ callId, child })),
  )
  const row = await lateRow(view, run)
  return { openChildren: children, ...(row && { notTaken: row }) }
}

/** The row of a run that is due and that no worker has taken. A list that is behind, or is being made again, says nothing. */
async function lateRow({ caller, deps }: View, { runId, name, startedAt }: Run): Promise<Row | undefined> {
  if (caller.run !== undefined) return undefined
  // The list is ordered by the start: this reads the runs of one millisecond.
  const until = new Date(Date.parse(startedAt) + 1).toISOString()
  const listing = deps.ledger.listRuns(caller, { name, status: 'open', since: startedAt, until, limit: SAME_START_MAX })
  const listed = await withTimeout(listing, LIST_WAIT_MS, () => new Error('late')).catch(() => undefined)
  const row = listed?.items.map(rowOf).find((each) => each.runId === runId)
  return row !== undefined && isLate(row, deps.now()) ? row : undefined
}

/** Runs of one name that began in the same millisecond. */
const SAME_START_MAX = 200
const LIST_WAIT_MS = 1_000

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
  readonly attention: Attention
}

function RunBody({ view, run, moment, last, story, window, rows, place, attention }: BodyProps) {
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
        <RunNotices run={run} story={story} {...attention} />
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

// Paging through a run by windows of events, and the choice of the time scale.

interface PagerProps {
  readonly run: Run
  readonly window: { readonly from: number; readonly to: number }
  readonly scale: 'steps' | 'time'
  readonly size: number
  /** Accessible name: the page has one pager above its events and one below. */
  readonly label?: string
}

function Pager({ run, window: { from, to }, scale, size, label = 'Events shown' }: PagerProps) {
  const at = (start: number): string => runPath(run, { from: start, scale: scale === 'steps' ? undefined : scale })
  const other = scale === 'steps' ? 'time' : undefined
  return (
    <nav class="pager" aria-label={label}>
      {from > 0 && (
        <a href={at(Math.max(0, from - size))} rel="prev">
          Earlier
        </a>
      )}
      <span class="muted">
        {from === to ? `Event ${count(from)}` : `Events ${count(from)} to ${count(to)}`} of {count(run.revision + 1)}
      </span>
      {to < run.revision && (
        <a href={at(to + 1)} rel="next">
          Later
        </a>
      )}
      <a href={runPath(run, { from, scale: other })}>
        {scale === 'steps' ? 'Draw by the clock' : 'Draw event by event'}
      </a>
    </nav>
  )
}

// The calls of a run by tool, with their durations.

/** Limit for a run with thousands of tool names; its events have all. */
const TOOLS_SHOWN = 50

function ToolTable({ run, story }: { readonly run: RunPlace; readonly story: RunStory }) {
  const tools = toolTimes(story.spans)
  if (tools.length === 0) return null
  return (
    <section aria-labelledby="tools-title">
      <h2 id="tools-title">Calls by tool</h2>
      <div class="table-scroll">
        <table class="listed tools">
          <thead>
            <tr>
              <th scope="col">Tool</th>
              <th scope="col">What became of them</th>
              <th scope="col" class="number">
                Calls
              </th>
              <th scope="col" class="number">
                Median
              </th>
              <th scope="col" class="number">
                Longest
              </th>
            </tr>
          </thead>
          <tbody>
            {tools.slice(0, TOOLS_SHOWN).map((tool) => (
              <ToolRow run={run} tool={tool} />
            ))}
          </tbody>
        </table>
      </div>
      {tools.length > TOOLS_SHOWN && <p class="muted">and {count(tools.length - TOOLS_SHOWN)} more</p>}
    </section>
  )
}

function ToolRow({ run, tool: { tool, calls, medianMs, longest, ...became } }: { run: RunPlace; tool: ToolTimes }) {
  return (
    <tr>
      <th scope="row">
        <Data text={tool} />
      </th>
      <td data-label="Became">
        <Became calls={calls} {...became} />
      </td>
      <td class="number" data-label="Calls">
        {count(calls)}
      </td>
      <td class="number" data-label="Median">
        {medianMs === undefined ? <span class="muted">not known</span> : lasted(medianMs)}
      </td>
      <td class="number" data-label="Longest">
        {longest === undefined ? (
          <span class="muted">not known</span>
        ) : (
          <a href={eventPath(run, longest.revision)}>{lasted(longest.ms)}</a>
        )}
      </td>
    </tr>
  )
}

function Became({ calls, failed, inDoubt, undone, open }: Omit<ToolTimes, 'tool' | 'medianMs' | 'longest'>) {
  const succeeded = calls - failed - inDoubt - undone - open
  const parts = [
    ['good', 'succeeded', succeeded],
    ['bad', 'failed', failed],
    ['warn', 'in doubt', inDoubt],
    ['compensated', 'undone', undone],
    ['open', 'open', open],
  ] as const
  return (
    <>
      {parts
        .filter(([, , number]) => number > 0)
        .map(([kind, text, number]) => (
          <>
            <Badge kind={kind} text={`${count(number)} ${text}`} />{' '}
          </>
        ))}
    </>
  )
}
