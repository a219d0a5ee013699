/** @module Facts of a run that need attention: refused handoffs, calls in doubt, and calls that a rollback could not undo. */
import { money, plural } from '../format.ts'
import { eventPath, refusalPath, resolvePath, runPath, suspectsPath } from '../paths.ts'
import { type Row, type Run, unsettledOf } from '../run-row.ts'
import type { Mark, RunStory, Span } from '../story/story-parts.ts'
import { Data, Time } from './data.tsx'
import { NotTaken } from './not-taken.tsx'
import { Stuck, Waits } from './run-waits.tsx'

/** Newest first; the picture shows all. */
const REFUSALS_SHOWN = 5
/** The run's page of suspects lists all. */
const SUSPECTS_SHOWN = 5

/** What is not in the state of the run itself. */
export interface Attention {
  /** Open runs within this one that do the work of a call, by the id of the call. */
  readonly openChildren: ReadonlyMap<string, string>
  /** The run is due, and no worker has taken it. */
  readonly notTaken?: Row
}

type NoticesProps = Attention & { readonly run: Run; readonly story: RunStory }

export function RunNotices({ run, story, openChildren, notTaken }: NoticesProps) {
  const rejected = story.marks.filter(({ kind }) => kind === 'rejected')
  const shown = rejected.slice(-REFUSALS_SHOWN).reverse()
  const { inDoubt, overdue: late } = unsettledOf(run)
  const ownOf = (calls: Run['openCalls']) => calls.filter(({ callId }) => !openChildren.has(callId))
  const [doubtful, overdue] = [ownOf(inDoubt), ownOf(late)]
  const standing = story.spans.filter((span) => isLeftStanding(span, story))
  const { waiting, heldSignals, suspectsTotal, stuck } = run
  const quiet =
    waiting.length + heldSignals.length === 0 &&
    (suspectsTotal ?? stuck ?? notTaken) === undefined &&
    openChildren.size === 0
  if (quiet && [shown, standing, doubtful, overdue].every((each) => each.length === 0)) return null
  return (
    <section aria-label="What needs a look" class="notices">
      {shown.length > 0 && (
        <div class="notice notice-bad">
          <h2>
            {run.rejections === 1 ? 'One handoff was refused' : `${plural(run.rejections, 'handoff')} were refused`}
          </h2>
          <ul>
            {shown.map((mark) => (
              <Refusal run={run} mark={mark} story={story} />
            ))}
          </ul>
          {run.rejections > shown.length && <p class="muted">The newest {shown.length}; the picture shows all.</p>}
        </div>
      )}
      <OpenSuspects run={run} />
      <NotUndone run={run} spans={standing} story={story} />
      <OpenCalls run={run} story={story} calls={doubtful} what="outcome is not known: someone has to resolve it" />
      <WithinRuns runs={[...openChildren.values()]} />
      <Stuck run={run} />
      {notTaken !== undefined && (
        <div class="notice notice-warn">
          <h2>
            The run is due: <NotTaken {...notTaken} />
          </h2>
        </div>
      )}
      <Waits run={run} />
      <OpenCalls run={run} story={story} calls={overdue} what="lease is over and no outcome was recorded" />
    </section>
  )
}

/** Their calls need no resolution: they end with these runs (RUN-292). */
function WithinRuns({ runs }: { readonly runs: readonly string[] }) {
  if (runs.length === 0) return null
  return (
    <div class="notice">
      <h2>{plural(runs.length, 'call')}: its run within this one is open, and decides how it ends</h2>
      <ul>
        {runs.map((runId) => (
          <li>
            <a class="strong" href={runPath({ runId })}>
              <Data text={runId} />
            </a>
          </li>
        ))}
      </ul>
    </div>
  )
}

function OpenSuspects({ run }: { readonly run: Run }) {
  const { suspects = [], suspectsTotal = 0 } = run
  if (suspectsTotal === 0) return null
  return (
    <div class="notice notice-warn">
      <h2>{plural(suspectsTotal, 'open suspect')}: changes that nothing explains</h2>
      <p>
        <a href={suspectsPath(run)}>Review them</a>
      </p>
      <ul>
        {suspects.slice(0, SUSPECTS_SHOWN).map(({ path, agent }) => (
          <li>
            <code>
              <Data text={path === '' ? 'further changes' : path} />
            </code>
            , by <Data text={agent} />
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Whether its compensation failed and no later one succeeded, so that the call's effect remains. */
function isLeftStanding({ compensates, status }: Span, story: RunStory): boolean {
  return compensates !== undefined && status === 'failed' && story.spanOf.get(compensates)?.status !== 'undone'
}

function NotUndone({ run, spans, story }: { readonly run: Run; readonly spans: readonly Span[]; story: RunStory }) {
  if (spans.length === 0) return null
  return (
    <div class="notice notice-bad">
      <h2>{plural(spans.length, 'compensation')} failed: what the call did was not undone</h2>
      <ul>
        {spans.map(({ tool, compensates = '', from, to = from, toTime }) => (
          <li>
            <a class="strong" href={eventPath(run, to)}>
              <Data text={tool} />
            </a>
            {', to undo '}
            <Data text={story.spanOf.get(compensates)?.tool ?? compensates} />{' '}
            {toTime !== undefined && (
              <span class="muted">
                <Time time={toTime} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </div>
  )
}

function Refusal({ run, mark, story }: { run: Run; mark: Mark; story: RunStory }) {
  const rewind = story.marks.find(({ kind, revision }) => kind === 'rewind' && revision === mark.revision + 1)
  const { tokens = 0, cost = '0' } = mark
  return (
    <li>
      <a class="strong" href={refusalPath(run, mark.revision)}>
        <Data text={mark.lane} />: {plural(mark.findings ?? 0, 'finding')}
      </a>
      {rewind !== undefined && `, rewound to step ${rewind.step}`}
      {cost !== '0' && `, ${money(cost, run.budget.currency)}`}
      {cost === '0' && tokens > 0 && `, ${plural(tokens, 'token')}`}{' '}
      <span class="muted">
        <Time time={mark.time} />
      </span>
    </li>
  )
}

interface OpenCallsProps {
  readonly run: Run
  readonly story: RunStory
  readonly calls: Run['openCalls']
  readonly what: string
}

function OpenCalls({ run, story, calls, what }: OpenCallsProps) {
  if (calls.length === 0) return null
  return (
    <div class="notice notice-warn">
      <h2>
        {plural(calls.length, 'call')}: the {what}
      </h2>
      <ul>
        {calls.map((call) => {
          const { callId, tool } = call
          const span = story.spanOf.get(callId)
          return (
            <li>
              {run.asOf === undefined && (call.status === 'in-doubt' || call.overdue === true) ? (
                <a class="strong" href={resolvePath(run.runId, callId)}>
                  <Data text={tool} />
                </a>
              ) : span === undefined ? (
                <Data text={tool} />
              ) : (
                <a class="strong" href={eventPath(run, span.from)}>
                  <Data text={tool} />
                </a>
              )}
            </li>
          )
        })}
      </ul>
    </div>
  )
}
