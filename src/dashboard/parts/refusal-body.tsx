/** @module The page of a refused handoff, in the order of a reader's questions. */
import { EXPORT } from '../../access/access.ts'
import { mayOpen } from '../../access/check-access.ts'
import type { Principal } from '../../signing/tokens.ts'
import { DiffTable } from '../diff/diff-table.tsx'
import { count, money, plural } from '../format.ts'
import { bundlePath, downloadPath, eventPath, type RunPlace, refusalPath, withQuery } from '../paths.ts'
import { barLabel } from '../picture/labels.ts'
import type { RefusedHandoff } from '../refused-handoff.ts'
import type { Span } from '../story/story-parts.ts'
import { verdictWords } from '../verdict-marks.ts'
import { AsItWas } from './as-it-was.tsx'
import { Crumbs } from './crumbs.tsx'
import { Actor, Badge, Data, Time } from './data.tsx'
import { Fact } from './fact.tsx'
import { Findings } from './findings.tsx'
import { ProofPanel } from './proof-panel.tsx'

export interface RefusalBodyProps {
  readonly found: RefusedHandoff
  readonly caller: Principal
  readonly verifierKey: string | undefined
}

export function RefusalBody({ found, caller, verifierKey }: RefusalBodyProps) {
  const { run, event, envelope, diff, standing, faults } = found
  const { header } = event
  return (
    <>
      <AsItWas run={run.runId} moment={found.moment} last={found.last} now={refusalPath(run.runId, header.revision)} />
      <Crumbs run={run} here={`Refused handoff, event ${header.revision}`} />
      <div class="page-head">
        <div>
          <h1>
            Handoff of <Data text={envelope.agent} /> refused
          </h1>
          <p class="muted">
            <Time time={header.time} />, against step {standing.step} of{' '}
            {standing.agent === '' ? 'the run' : <Data text={standing.agent} />}
          </p>
        </div>
        <a class="button" href={eventPath(run, header.revision)}>
          The signed event
        </a>
      </div>
      <Facts found={found} />
      <Findings found={found} />
      <section aria-labelledby="diff-title">
        <h2 id="diff-title">What it would have changed</h2>
        <DiffTable
          diff={diff}
          beforeTitle={`Established: step ${standing.step}`}
          afterTitle={`Refused (mode ${envelope.mode})`}
        />
      </section>
      <Undone found={found} />
      <div class="columns columns-even">
        <ProofPanel
          run={run.runId}
          revision={header.revision}
          eventId={header.id}
          verifierKey={verifierKey}
          caller={caller}
          faults={faults}
          kid={header.kid}
        />
        <HandOver run={run.runId} caller={caller} />
      </div>
    </>
  )
}

function Facts({ found }: { readonly found: RefusedHandoff }) {
  const { run, event, envelope, rewind, story } = found
  const { actor, principal, via, revision } = event.header
  const mark = story.marks.find((each) => each.revision === revision)
  const { tokens = 0, cost = '0' } = mark ?? {}
  const { currency } = run.budget
  return (
    <dl class="facts">
      <Fact label="Who, for whom">
        <Actor actor={actor} {...(principal !== undefined && { principal })} {...(via !== undefined && { via })} />
      </Fact>
      <Fact label="Agent">
        <Data text={envelope.agent} />
      </Fact>
      <Fact label="Findings">
        {count(envelope.findingsTotal)}
        {envelope.rules !== undefined && <span class="muted"> by rule set {envelope.rules}</span>}
      </Fact>
      <Fact label="Established values retained">
        {envelope.confidence === undefined ? 'nothing was protected' : `${Math.round(envelope.confidence * 100)} %`}
      </Fact>
      <Fact label="Cost of this step">
        {cost === '0' && tokens === 0 ? <span class="muted">nothing recorded</span> : money(cost, currency)}
        {tokens > 0 && <span class="muted"> {plural(tokens, 'token')}</span>}
      </Fact>
      <Fact label="Cost of the run">
        {money(run.budget.cost, currency)} <span class="muted">{plural(run.budget.tokens, 'token')}</span>
      </Fact>
      <Fact label="Rewound">
        {rewind === undefined ? (
          <span class="muted">no</span>
        ) : (
          <a href={eventPath(run, rewind.revision)}>to step {rewind.body.toStep}</a>
        )}
      </Fact>
    </dl>
  )
}

// Downloads for a third party that trusts neither this page nor this server.

interface HandOverProps {
  readonly run: string
  readonly caller: Principal
}

const FORMATS = [
  ['jsonl', 'JSONL', 'every event as it was signed; countersign verify reads it'],
  ['csv', 'CSV', 'for a spreadsheet; safe to open'],
  ['cloudevents', 'CloudEvents', 'one a line'],
  ['ocsf', 'OCSF', 'for a SIEM'],
  ['otlp', 'OTLP', 'as a trace'],
] as const

function HandOver({ run, caller }: HandOverProps) {
  const path = `runs/${encodeURIComponent(run)}`
  return (
    <section class="card" aria-labelledby="hand-over-title">
      <h2 id="hand-over-title">Hand it over</h2>
      {mayOpen(EXPORT, caller, run) ? (
        <>
          <p>
            <a class="button primary" href={bundlePath(run)} download>
              Evidence bundle
            </a>
          </p>
          <p class="muted">
            One file that proves itself: its events, checkpoint, keys, a report to read, and verify.mjs, which checks it
            with Node alone.
          </p>
          <h3>Exports</h3>
          <p class="muted">
            Each export is recorded with the name of who took it. A cut one says so when it is verified.
          </p>
          <ul class="formats">
            {FORMATS.map(([format, label, what]) => (
              <li>
                <a class="strong" href={downloadPath(withQuery(`${path}/export`, { format }))} download>
                  {label}
                </a>{' '}
                <span class="muted">{what}</span>
              </li>
            ))}
          </ul>
          <p class="muted">
            Check it on another machine: <code>countersign verify {run}.jsonl</code>
          </p>
        </>
      ) : (
        <p>Exports need a token with the scope audit:export.</p>
      )}
    </section>
  )
}

/** The effects of a refusal: what it undid and what it left unchanged; and the effects of later rollbacks of the run on its calls. */
function Undone({ found }: { readonly found: RefusedHandoff }) {
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
              {rewind.body.toStep === standing.step && ', where it was'}. A rewind moves the context and nothing else:{' '}
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
