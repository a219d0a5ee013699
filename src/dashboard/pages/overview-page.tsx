/** @module The first page: alterations, refusals, failures and doubts, spend by agent, and reads by reader. */
import { z } from 'zod'
import { READ_OWN_RUNS, READ_TENANT } from '../../access/access.ts'
import { mayOpen } from '../../access/check-access.ts'
import type { IntegrityState } from '../../ledger/integrity/integrity.ts'
import type { LogState } from '../../ledger/log/tenant-logs.ts'
import { seeOther } from '../answer.tsx'
import { type Overview, readOverview } from '../overview.ts'
import { pageRoute, type View } from '../page.ts'
import { AlteredCard } from '../parts/altered-card.tsx'
import { Chips } from '../parts/chips.tsx'
import { NoRunsYet } from '../parts/no-runs-yet.tsx'
import { CompensationCard, ReaderCard, RefusalCard, SpendCard, UnsettledCard } from '../parts/overview-cards.tsx'
import { OVERVIEW, RUNS, withQuery } from '../paths.ts'

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
