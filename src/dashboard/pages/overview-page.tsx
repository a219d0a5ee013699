/** @module The first page: alterations, refusals, failures and doubts, spend by agent, and reads by reader. */
import { z } from 'zod'
import type { JsonObject } from '../../../schemas/json.ts'
import { READ_OWN_RUNS, READ_TENANT } from '../../access/access.ts'
import { mayOpen } from '../../access/check-access.ts'
import type { IntegrityState } from '../../ledger/integrity/integrity.ts'
import type { LogState } from '../../ledger/log/tenant-logs.ts'
import { parseCheckpoint } from '../../merkle/checkpoint.ts'
import { parseNote } from '../../merkle/signed-note.ts'
import { seeOther } from '../answer.tsx'
import { count, money, plural } from '../format.ts'
import { numberIn, textIn } from '../item-members.ts'
import { type Overview, type Reader, readOverview } from '../overview.ts'
import { pageRoute, type View } from '../page.ts'
import { Chips } from '../parts/chips.tsx'
import { Badge, Data, Time } from '../parts/data.tsx'
import { NothingBroken } from '../parts/integrity.tsx'
import { NoRunsYet } from '../parts/no-runs-yet.tsx'
import { PartList, QuestionCard } from '../parts/question-card.tsx'
import { Estimated, OtherSpending } from '../parts/spend-chart.tsx'
import {
  auditPath,
  DOUBTS,
  eventPath,
  LOG,
  OVERVIEW,
  RUNS,
  refusalPath,
  runPath,
  SERVICE,
  SPEND,
  withQuery,
} from '../paths.ts'
import type { Row } from '../run-row.ts'
import { clipped, visibleText } from '../visible.ts'

const DAY_MS = 86_400_000
const PERIODS = [
  ['1d', '24 hours', 1],
  ['7d', '7 days', 7],
  ['30d', '30 days', 30],
  ['all', 'Ever', undefined],
] as const

const OverviewQuery = z.object({ period: z.enum(['1d', '7d', '30d', 'all'], 'takes 1d, 7d, 30d or all').default('7d') })

type OverviewView = View<z.output<typeof OverviewQuery>>

/** Readers without access to the whole tenant are redirected to the runs. */
export const overviewPage = pageRoute({
  path: '/overview',
  access: READ_OWN_RUNS,
  query: OverviewQuery,
  handle: async (view) => {
    if (!mayOpen(READ_TENANT, view.caller)) return seeOther(view.c, RUNS)
    const since = sinceOf(view)
    const overview = await readOverview(view, since)
    return { title: 'Overview', nav: 'overview', body: <OverviewBody view={view} overview={overview} since={since} /> }
  },
})

function sinceOf({ query: { period }, deps }: OverviewView): string | undefined {
  const days = PERIODS.find(([id]) => id === period)?.[2]
  return days === undefined ? undefined : new Date(deps.now() - days * DAY_MS).toISOString()
}

interface BodyProps {
  readonly view: OverviewView
  readonly overview: Overview
  readonly since: string | undefined
}

function OverviewBody({ view: { deps, caller, query }, overview, since }: BodyProps) {
  const { logs, integrity } = deps.ledger
  const integrityState: IntegrityState = integrity.state(caller)
  const logState: LogState | undefined = logs?.state(caller.tenant)
  const note = logs?.checkpoint(caller.tenant)
  return (
    <>
      <div class="page-head">
        <h1>Overview</h1>
        <Chips
          label="Period"
          chips={PERIODS.map(([id, label]) => {
            return { label, href: withQuery(OVERVIEW, { period: id }), current: id === query.period }
          })}
        />
      </div>
      {overview.hasRuns.ok && !overview.hasRuns.value && <NoRunsYet />}
      <div class="overview-cards">
        <AlteredCard integrity={integrityState} log={logState} note={note?.ok === true ? note.value : undefined} />
        <RefusalCard rejections={overview.rejections} refusals={overview.refusals} since={since} />
        <CompensationCard found={overview.failedCompensations} since={since} />
        <UnsettledCard {...overview} />
        <SpendCard spend={overview.spend} since={since} />
        <ReaderCard readers={overview.readers} />
      </div>
    </>
  )
}

// The card about alterations: recorded faults, the last whole scrub, and the signatures of the log.

interface AlteredCardProps {
  readonly integrity: IntegrityState
  readonly log: LogState | undefined
  /** Note of the last checkpoint. */
  readonly note: string | undefined
}

function AlteredCard({ integrity: { faults, acknowledged, scrub }, log, note }: AlteredCardProps) {
  const isOpen = ({ pastSince, acknowledged: isLost }: IntegrityState['faults'][number]): boolean =>
    pastSince === undefined && isLost !== true
  const present = faults.filter(isOpen).length
  const past = faults.filter(({ acknowledged: isLost }) => isLost !== true).length
  const broken = present > 0 || log?.stopped !== undefined
  return (
    <QuestionCard
      title="Was anything altered?"
      all={{ href: `${LOG}#integrity`, text: 'The log, and what was checked' }}
    >
      <p>
        {broken ? (
          <>
            <Badge kind="bad" text="yes" />{' '}
            {present > 0 ? `${plural(present, 'event')} recorded as broken` : `The log stopped: ${log?.stopped}`}
          </>
        ) : (
          <NothingBroken scrub={scrub} past={past} />
        )}
      </p>
      {acknowledged.length > 0 && (
        <p>
          <Badge kind="open" text="lost for good" /> {plural(acknowledged.length, 'loss', 'losses')} acknowledged
        </p>
      )}
      <dl class="members">
        <dt>Last whole reading</dt>
        <dd>
          {scrub.lastPass === undefined ? (
            <span class="muted">{scrub.days === 0 ? 'the scrub is off' : 'none yet'}</span>
          ) : (
            <>
              <Time time={scrub.lastPass.endedAt} />, {count(scrub.lastPass.leaves)} events
            </>
          )}
        </dd>
        <Signed log={log} note={note} />
      </dl>
    </QuestionCard>
  )
}

function Signed({ log, note }: Pick<AlteredCardProps, 'log' | 'note'>) {
  if (log === undefined)
    return (
      <>
        <dt>Log</dt>
        <dd class="muted">this ledger keeps none</dd>
      </>
    )
  const signed = note === undefined ? undefined : parseNote(note)
  const checkpoint = signed === undefined ? undefined : parseCheckpoint(signed.text)
  return (
    <>
      <dt>Last checkpoint</dt>
      <dd>
        {checkpoint === undefined ? (
          <span class="muted">none yet</span>
        ) : (
          `${count(log.published)} of ${plural(log.size, 'event')}`
        )}
      </dd>
      <dt>Signed by</dt>
      <dd>{signed === undefined ? <span class="muted">no key</span> : plural(signed.signatures.length, 'key')}</dd>
      <dt>Witnesses</dt>
      <dd>
        {log.witnesses.length === 0 ? (
          <span class="muted">none has cosigned since the start of this process</span>
        ) : (
          log.witnesses.map(({ name, size }) => (
            <span class="sub">
              <Data text={name} /> at {count(size)}
            </span>
          ))
        )}
      </dd>
    </>
  )
}

// The cards of the overview: each row links to its evidence, each card to all rows.

type Since = { readonly since: string | undefined }

function RefusalCard({ rejections, refusals, since }: Pick<Overview, 'rejections' | 'refusals'> & Since) {
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

function CompensationCard({ found, since }: { readonly found: Overview['failedCompensations'] } & Since) {
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

function UnsettledCard({
  inDoubt,
  overdue,
  stuck,
  waiting,
}: Pick<Overview, 'inDoubt' | 'overdue' | 'stuck' | 'waiting'>) {
  return (
    <QuestionCard
      title="What is in doubt, overdue or waiting?"
      all={{ href: DOUBTS, text: 'All calls in doubt or overdue' }}
    >
      <PartList
        part={inDoubt}
        none="No call is in doubt."
        row={(row) => <RunLine row={row} text={`${plural(row.inDoubtCalls, 'call')} in doubt`} />}
      />
      <h3>Overdue</h3>
      <PartList
        part={overdue}
        none="No lease is overdue."
        row={(row) => <RunLine row={row} text="a lease is over, and the call was not settled" />}
      />
      <p>
        <a href={withQuery(RUNS, { overdue: 'true' })}>All overdue runs</a>
      </p>
      <h3>Stuck</h3>
      <PartList
        part={stuck}
        none="No run is stuck."
        row={(row) => (
          <RunLine row={row} text={`its worker could not carry it on: ${visibleText(row.stuck?.code ?? '')}`} />
        )}
      />
      <p>
        <a href={withQuery(RUNS, { stuck: 'true' })}>All stuck runs</a>
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

function SpendCard({ spend, since }: Pick<Overview, 'spend'> & Since) {
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

function ReaderCard({ readers }: Pick<Overview, 'readers'>) {
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
