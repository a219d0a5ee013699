/** @module The handoffs of a window with the cost of each, and links to their changes. */
import { count, money, plural } from '../format.ts'
import { contextPath, diffPath, eventPath, refusalPath } from '../paths.ts'
import type { Run } from '../run-row.ts'
import type { Mark, RunStory } from '../story/story-parts.ts'
import { Badge, Data, Time } from './data.tsx'

export interface StepTableProps {
  readonly run: Run
  readonly story: RunStory
  readonly window: { readonly from: number; readonly to: number }
}

interface Step {
  readonly mark: Mark
  /** The step that was established before. */
  readonly base: number
}

export function StepTable({ run, story, window: { from, to } }: StepTableProps) {
  const steps = stepsOf(story.marks).filter(({ mark }) => mark.revision >= from && mark.revision <= to)
  if (steps.length === 0) return <p class="muted">No handoff is among these events.</p>
  return (
    <div class="table-scroll">
      <table class="listed steps">
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col">Agent</th>
            <th scope="col">Verdict</th>
            <th scope="col">What changed</th>
            <th scope="col" class="number">
              Tokens
            </th>
            <th scope="col" class="number">
              Cost
            </th>
            <th scope="col">Time</th>
          </tr>
        </thead>
        <tbody>
          {steps.map((step) => (
            <Row run={run} step={step} />
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row" colspan={4}>
              The whole run
            </th>
            <td class="number" data-label="Tokens">
              {count(run.budget.tokens)}
            </td>
            <td class="number" data-label="Cost">
              {money(run.budget.cost, run.budget.currency)}
            </td>
            <td></td>
          </tr>
        </tfoot>
      </table>
    </div>
  )
}

/** A rewind makes an earlier step the base again. */
function stepsOf(marks: readonly Mark[]): readonly Step[] {
  const steps: Step[] = []
  let base = 0
  for (const mark of marks) {
    if (mark.kind === 'rewind') base = mark.step ?? 0
    if (mark.kind !== 'accepted' && mark.kind !== 'rejected') continue
    steps.push({ mark, base })
    if (mark.kind === 'accepted') base = mark.step ?? base
  }
  return steps
}

function Row({ run, step: { mark, base } }: { readonly run: Run; readonly step: Step }) {
  const { kind, step, lane, revision, time, tokens = 0, cost = '0', findings, supersedes } = mark
  const accepted = kind === 'accepted'
  return (
    <tr>
      <th scope="row" data-label="Step">
        <a href={eventPath(run, revision)} aria-label={accepted ? `Step ${step}` : `Refused, event ${revision}`}>
          {accepted ? step : '\u2013'}
        </a>
      </th>
      <td data-label="Agent">
        <Data text={lane} />
      </td>
      <td data-label="Verdict">
        <Badge kind={accepted ? 'good' : 'bad'} text={accepted ? 'accepted' : 'refused'} />
        {findings !== undefined && <span class="muted"> {plural(findings, accepted ? 'warning' : 'finding')}</span>}
        {supersedes !== undefined && <span class="muted"> supersedes {plural(supersedes, 'value')}</span>}
      </td>
      <td data-label="Changed">
        {accepted ? (
          <>
            <a href={diffPath(run, base, step ?? base)}>against step {base}</a>
            {', '}
            <a href={contextPath(run, step ?? base)}>the context</a>
          </>
        ) : (
          <a class="strong" href={refusalPath(run, revision)}>
            what it would have changed
          </a>
        )}
      </td>
      <td class="number" data-label="Tokens">
        {tokens === 0 ? <span class="muted">0</span> : count(tokens)}
      </td>
      <td class="number" data-label="Cost">
        {cost === '0' ? <span class="muted">0</span> : money(cost, run.budget.currency)}
      </td>
      <td data-label="Time">
        <Time time={time} />
      </td>
    </tr>
  )
}
