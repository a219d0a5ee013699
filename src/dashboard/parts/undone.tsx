/** @module The effects of a refusal: what it undid and what it left unchanged; and the effects of later rollbacks of the run on its calls. */
import { plural } from '../format.ts'
import { eventPath, type RunPlace } from '../paths.ts'
import { barLabel } from '../picture/labels.ts'
import type { RefusedHandoff } from '../refused-handoff.ts'
import type { Span } from '../story/story-parts.ts'
import { verdictWords } from '../verdict-marks.ts'
import { Badge, Data } from './data.tsx'

export function Undone({ found }: { readonly found: RefusedHandoff }) {
  const { rewind, story, run, standing } = found
  const since = new Set(rewind?.body.callsSince ?? [])
  const stayed = story.spans.filter(({ callId }) => since.has(callId))
  const undoing = story.spans.filter(({ compensates }) => compensates !== undefined)
  return (
    <section aria-labelledby="undone-title">
      <h2 id="undone-title">What was undone</h2>
      <div class="columns columns-even">
        <div class="card">
          <h3>By the refusal</h3>
          {rewind === undefined ? (
            <p>Nothing was rewound.</p>
          ) : (
            <p>
              The context went back to <a href={eventPath(run, rewind.body.snapshot)}>step {rewind.body.toStep}</a>
              {rewind.body.toStep === standing.step && ', where it stood'}. A rewind moves the context and nothing else:{' '}
              {since.size === 0
                ? 'no call was made since.'
                : `${plural(since.size, 'call')} made since then stayed, and so did what they cost.`}
            </p>
          )}
          <CallList run={run} calls={stayed} />
        </div>
        <div class="card">
          <h3>By rollbacks of the run</h3>
          {undoing.length === 0 ? (
            <p>No call of this run was compensated.</p>
          ) : (
            <p>
              {plural(undoing.length, 'compensation')} ran
              {run.compensation !== undefined && `, and the rollback ended: ${verdictWords(run.compensation)}`}.
            </p>
          )}
          <CallList run={run} calls={undoing} />
        </div>
      </div>
    </section>
  )
}

const CALLS_SHOWN = 50
const KINDS: Readonly<Record<Span['status'], string>> = {
  open: 'open',
  succeeded: 'good',
  failed: 'bad',
  'in-doubt': 'warn',
  undone: 'compensated',
}

function CallList({ run, calls }: { readonly run: RunPlace; readonly calls: readonly Span[] }) {
  if (calls.length === 0) return null
  return (
    <ul class="calls">
      {calls.slice(0, CALLS_SHOWN).map((span) => (
        <li title={barLabel(span)}>
          <a href={eventPath(run, span.from)}>
            <Data text={span.tool} />
          </a>{' '}
          <Badge kind={KINDS[span.status]} text={span.status} />
        </li>
      ))}
      {calls.length > CALLS_SHOWN && <li class="muted">and {calls.length - CALLS_SHOWN} more</li>}
    </ul>
  )
}
