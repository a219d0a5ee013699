/** @module Answers that are no single events: runs, spending, keys, reads and samples. */
import { createHash } from 'node:crypto'
import { AccessRecorded } from '../../../schemas/events/access-recorded.ts'
import { declarationOf } from '../../../schemas/events.ts'
import type { Header } from '../../../schemas/header.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { fromNano } from '../../../schemas/money.ts'
import { SYSTEM_TENANT } from '../../../schemas/names.ts'
import type { Pace } from '../../resources/work-queue.ts'
import type { AuditFilter, AuditIndex, AuditView, RunGroup, SpendBy } from '../../store/audit-index.ts'
import type { EventStore } from '../../store/event-store.ts'
import { type EventDeps, eventsOf, type FoundEvent, linksOf } from './audit-events.ts'
import type { AsOf } from './audit-reads.ts'

/** Missing revisions that a row names; it counts them all. */
const MISSING_SHOWN = 20
/** Keys of one ledger's life. */
const KEYS_MAX = 1_000
/** Runs of one statement: about a millisecond. */
const RUNS_AT_ONCE = 50

export interface GroupDeps extends EventDeps {
  readonly index: AuditIndex
  readonly store: Pick<EventStore, 'readStream' | 'comparePositions'>
}

/** What is asked, with everything that has been looked up. */
export interface GroupAsk {
  readonly view: AuditView
  readonly asOf: AsOf
  readonly filter: AuditFilter
  readonly after: readonly Json[] | undefined
  readonly limit: number
  readonly pace: Pace | undefined
}

export interface GroupAnswer {
  readonly items: readonly JsonObject[]
  readonly next?: readonly Json[]
  /** Groups there are, on all pages. */
  readonly total?: number
}

const texts = (after: readonly Json[] | undefined): readonly string[] | undefined => after?.map(String)

export function runsAnswer(
  { index }: GroupDeps,
  { view, filter, after, limit }: GroupAsk,
  openOnly: boolean,
): GroupAnswer {
  const groups = index.runs(view, filter, { after: texts(after), limit: limit + 1, openOnly })
  const items = groups.slice(0, limit).map((group) => runBody(group, view, index))
  const last = groups[limit - 1]
  const next = groups.length > limit && last !== undefined ? { next: [last.run] } : {}
  return { items, ...next, total: index.countRuns(view, filter, openOnly) }
}

function runBody(group: RunGroup, view: AuditView, index: AuditIndex): JsonObject {
  const { run, events, firstRevision, lastRevision, firstTime, lastTime, rejections, end } = group
  const missingCount = lastRevision + 1 - events
  return {
    run,
    started: firstTime,
    last: lastTime,
    ...{ events, firstRevision, lastRevision, missingCount },
    missing: missingCount === 0 ? [] : index.missingRevisions(view, run, MISSING_SHOWN),
    status: end === undefined ? 'open' : (declarationOf(end)?.changes.run ?? end),
    rejections,
    links: { run: `/v1/runs/${run}`, events: `/v1/runs/${run}/events` },
  }
}

export function spendAnswer({ index }: GroupDeps, { view, filter, after, limit }: GroupAsk, by: SpendBy): GroupAnswer {
  const groups = index.spend(view, filter, { after: texts(after), limit: limit + 1, by })
  const items = groups.slice(0, limit).map(({ key, tokens, costNano, currency }) => ({
    key,
    by,
    tokens,
    cost: fromNano(costNano),
    currency: currency ?? null,
    ...(by === 'run' && {
      links: { run: `/v1/runs/${key}`, events: `/v1/audit/events?run=${key}&types=UsageRecorded` },
    }),
  }))
  const last = groups[limit - 1]
  return { items, ...(groups.length > limit && last !== undefined && { next: [last.key, last.currency ?? ''] }) }
}

interface KeyPeriod {
  readonly kid: string
  readonly announced: string
  readonly retired?: string
}

/** A key seals from the event that announces it to the one that announces the next. */
export async function keysAnswer(deps: GroupDeps, ask: GroupAsk): Promise<GroupAnswer> {
  const { index } = deps
  const { view, filter, after, limit } = ask
  const periods = await keyPeriods(deps, ask.asOf)
  const groups = index.keys(view, filter, { after: texts(after), limit: limit + 1 })
  const items = groups.slice(0, limit).map(({ kid, events, firstTime, lastTime }) => {
    const period = periods.find((each) => each.kid === kid)
    const { announced, retired } = period ?? {}
    const outside = (part: Pick<AuditFilter, 'since' | 'until'>) =>
      countOf(index, view, { ...narrowed(filter, part), kid })
    return {
      kid,
      events,
      first: firstTime,
      last: lastTime,
      announced: announced ?? null,
      retired: retired ?? null,
      before: announced === undefined ? events : outside({ until: announced }),
      after: retired === undefined ? 0 : outside({ since: retired }),
    }
  })
  const last = groups[limit - 1]
  return { items, ...(groups.length > limit && last !== undefined && { next: [last.kid] }) }
}

/** Both bounds, the narrower of each. */
function narrowed(filter: AuditFilter, { since, until }: Pick<AuditFilter, 'since' | 'until'>): AuditFilter {
  const later = [since, filter.since]
    .filter((time) => time !== undefined)
    .sort()
    .at(-1)
  const earlier = [until, filter.until].filter((time) => time !== undefined).sort()[0]
  const { since: _, until: __, ...rest } = filter
  return { ...rest, ...(later !== undefined && { since: later }), ...(earlier !== undefined && { until: earlier }) }
}

function countOf(index: AuditIndex, view: AuditView, filter: AuditFilter): number {
  return index.keys(view, filter, { after: undefined, limit: 1 })[0]?.events ?? 0
}

async function keyPeriods(deps: GroupDeps, asOf: AsOf): Promise<readonly KeyPeriod[]> {
  const { index, store } = deps
  const { position } = asOf
  const view = { tenant: SYSTEM_TENANT, size: index.size(SYSTEM_TENANT) }
  const types = ['LedgerCreated', 'KeyRotated']
  const rows = index.rows(view, { types }, { after: undefined, limit: KEYS_MAX })
  const known = rows.filter((row) => position !== null && store.comparePositions(row.position, position) <= 0)
  const events = await eventsOf(deps, known, undefined)
  return events.map(({ data, header }, at) => {
    const retired = events[at + 1]?.header.time
    return { kid: String(data.kid), announced: header.time, ...(retired !== undefined && { retired }) }
  })
}

/** One row a read. `only` picks among them: an event holds all reads of its moment. */
export function accessItems(
  events: readonly FoundEvent[],
  only: { readonly actor?: string | undefined; readonly run?: string | undefined; readonly verdicts: boolean },
): readonly JsonObject[] {
  return events.flatMap(({ row, header, data }) => {
    const place = { leaf: row.leaf, event: row.id, type: row.type, links: linksOf(row.id) }
    const body = AccessRecorded.schema.safeParse(data)
    const reads: readonly JsonObject[] = body.success
      ? (body.data.entries as unknown as readonly JsonObject[])
      : [exportRead(header, data)]
    return reads
      .filter((read) => only.actor === undefined || read.actor === only.actor)
      .filter((read) => only.run === undefined || read.run === only.run)
      .filter((read) => !only.verdicts || read.verdict !== undefined)
      .map((read) => ({ ...read, ...place }))
  })
}

function exportRead({ time, actor, principal }: Header, { v: _, ...data }: JsonObject): JsonObject {
  return { at: time, actor, ...(principal !== undefined && { principal }), query: 'export', ...data }
}

/** Runs in the order of a digest of seed and name: the first ones are the sample. */
export async function sampleAnswer(
  { index }: GroupDeps,
  { view, filter, after, limit, pace }: GroupAsk,
  seed: string,
): Promise<GroupAnswer> {
  const drawn: { readonly rank: string; readonly group: RunGroup }[] = []
  for (let from: readonly string[] | undefined; ; ) {
    await pace?.turn()
    const groups = index.runs(view, filter, { after: from, limit: RUNS_AT_ONCE })
    for (const group of groups) drawn.push({ rank: rankOf(seed, group.run), group })
    const last = groups.at(-1)
    if (last === undefined || groups.length < RUNS_AT_ONCE) break
    from = [last.run]
  }
  drawn.sort((a, b) => (a.rank < b.rank ? -1 : 1))
  const start = typeof after?.[0] === 'number' ? after[0] : 0
  const items = drawn
    .slice(start, start + limit)
    .map(({ rank, group }) => ({ ...runBody(group, view, index), rank, seed }))
  return { items, ...(start + limit < drawn.length && { next: [start + limit] }), total: drawn.length }
}

function rankOf(seed: string, run: string): string {
  return createHash('sha256').update(`countersign/sample/v1\n${seed}\n${run}`).digest('hex')
}
