/** @module The cards of the overview: each row links to its evidence, each card to all rows. */
import type { JsonObject } from '../../../schemas/json.ts'
import { count, money, plural } from '../format.ts'
import { numberIn, textIn } from '../item-members.ts'
import type { Overview, Reader } from '../overview.ts'
import { auditPath, DOUBTS, eventPath, RUNS, refusalPath, runPath, SERVICE, SPEND, withQuery } from '../paths.ts'
import type { Row } from '../run-row.ts'
import { clipped } from '../visible.ts'
import { Data, Time } from './data.tsx'
import { PartList, QuestionCard } from './question-card.tsx'
import { Estimated, OtherSpending } from './spend-chart.tsx'

type Since = { readonly since: string | undefined }

export function RefusalCard({ rejections, refusals, since }: Pick<Overview, 'rejections' | 'refusals'> & Since) {
  const all = { href: withQuery(auditPath('rejections'), { since }), text: 'All refused handoffs' }
  return (
    <QuestionCard title="What was refused, and why?" all={all}>
      <PartList
        part={rejections}
        none="No handoff was refused."
        row={(item) => <EventLine item={item} href={refusalPath} what={rulesOf(item)} who={textIn(item, 'agent')} />}
      />
      <h3>Requests</h3>
      <PartList
        part={refusals}
        none="No request was refused."
        row={(item) => (
          <EventLine
            item={item}
            href={eventPath}
            what={rulesOf(item)}
            who={textIn(item, 'agent') ?? textIn(item, 'actor')}
          />
        )}
      />
    </QuestionCard>
  )
}

export function CompensationCard({ found, since }: { readonly found: Overview['failedCompensations'] } & Since) {
  const all = { href: withQuery(auditPath('open-compensations'), { since }), text: 'All of them' }
  return (
    <QuestionCard title="Which compensations failed?" all={all}>
      <PartList
        part={found}
        none="None failed, and of none is the outcome unknown."
        row={(item) => (
          <EventLine
            item={item}
            href={eventPath}
            what={`${textIn(item, 'verdict') ?? ''}`}
            who={textIn(item, 'tool')}
          />
        )}
      />
    </QuestionCard>
  )
}

export function UnsettledCard({ inDoubt, overdue, waiting }: Pick<Overview, 'inDoubt' | 'overdue' | 'waiting'>) {
  return (
    <QuestionCard title="What is in doubt, overdue or waiting?" all={{ href: DOUBTS, text: 'All calls in doubt' }}>
      <PartList
        part={inDoubt}
        none="No call is in doubt."
        row={(row) => <RunLine row={row} text={`${plural(row.inDoubtCalls, 'call')} in doubt`} />}
      />
      <h3>Overdue</h3>
      <PartList
        part={overdue}
        none="No lease is overdue."
        row={(row) => <RunLine row={row} text="a lease is over, and nobody settled the call" />}
      />
      <p>
        <a href={withQuery(RUNS, { overdue: 'true' })}>All overdue runs</a>
      </p>
      <h3>Waiting</h3>
      <PartList
        part={waiting}
        none="No run waits for a decision, a signal or a time."
        row={(row) => <RunLine row={row} text={`waiting: ${plural(row.waiting, 'open wait')}`} />}
      />
      <p>
        <a href={withQuery(RUNS, { waiting: 'true' })}>All runs that wait</a>
      </p>
    </QuestionCard>
  )
}

export function SpendCard({ spend, since }: Pick<Overview, 'spend'> & Since) {
  const agents = spend.ok ? { ...spend, value: spend.value.items } : spend
  return (
    <QuestionCard title="Who spent what?" all={{ href: withQuery(SPEND, { since }), text: 'By model, day and run' }}>
      <PartList
        part={agents}
        none="Nothing was spent."
        row={(item) => (
          <a href={withQuery(auditPath('spend'), { by: 'run', agent: textIn(item, 'key'), since })}>
            <Data text={textIn(item, 'key') ?? ''} />
            <span class="amount">
              {money(textIn(item, 'cost') ?? '0', textIn(item, 'currency'))}
              <span class="muted"> {count(numberIn(item, 'tokens') ?? 0)} tokens</span>
              <Estimated item={item} />
            </span>
          </a>
        )}
      />
      {spend.ok &&
        spend.value.rest.map((each) => (
          <p class="muted">
            <OtherSpending sum={each} />
          </p>
        ))}
    </QuestionCard>
  )
}

export function ReaderCard({ readers }: Pick<Overview, 'readers'>) {
  return (
    <QuestionCard title="Who read what?" all={{ href: auditPath('access'), text: 'All recorded reads' }}>
      <PartList
        part={readers.ok ? { ...readers, value: readers.value.items } : readers}
        none="No read is recorded yet."
        row={(reader) => <ReaderLine {...reader} />}
      />
      {readers.ok && readers.value.ofNewest !== undefined && (
        <p class="muted">Counted are the newest {count(readers.value.ofNewest)} entries of the record.</p>
      )}
      <p>
        <a href={SERVICE}>Starts, settings and tokens of the ledger</a>
      </p>
    </QuestionCard>
  )
}

function ReaderLine({ actor, entries, lastAt, runs }: Reader) {
  return (
    <>
      <a href={withQuery(auditPath('access'), { actor })}>
        <Data text={actor} />
      </a>
      <span class="amount">
        {plural(entries, 'entry', 'entries')}, last <Time time={lastAt} />
      </span>
      {runs.length > 0 && (
        <span class="sub muted">
          of <Data text={runs.join(', ')} />
        </span>
      )}
    </>
  )
}

interface EventLineProps {
  readonly item: JsonObject
  readonly href: (run: string, revision: number) => string
  readonly what: string
  readonly who: string | undefined
}

const WHAT_CHARS = 120

function EventLine({ item, href, what, who }: EventLineProps) {
  const run = textIn(item, 'run') ?? ''
  return (
    <>
      <a href={href(run, numberIn(item, 'revision') ?? 0)}>
        <Data text={who ?? run} />: <Data text={clipped(what, WHAT_CHARS)} />
      </a>
      <span class="sub muted">
        <Data text={run} /> <Time time={textIn(item, 'time') ?? ''} />
      </span>
    </>
  )
}

function RunLine({ row, text }: { readonly row: Row; readonly text: string }) {
  return (
    <>
      <a href={runPath(row.runId)}>
        <Data text={row.runId} />
      </a>{' '}
      {text}
      <span class="sub muted">
        last event <Time time={row.updatedAt} />
      </span>
    </>
  )
}

function rulesOf({ rules }: JsonObject): string {
  return Array.isArray(rules) ? rules.join(', ') : ''
}
