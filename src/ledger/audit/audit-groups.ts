/** @module Answers to queries that do not list single events: runs, keys, reads and samples. */
import { createHash } from 'node:crypto'
import { AccessRecorded } from '../../../schemas/events/access-recorded.ts'
import { declarationOf, type EventType } from '../../../schemas/events.ts'
import type { Header } from '../../../schemas/header.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { SYSTEM_TENANT } from '../../../schemas/names.ts'
import { hasPart } from '../../../schemas/one-case.ts'
import { ROLLBACK_VERDICTS } from '../../../schemas/run-status.ts'
import type { Pace } from '../../resources/work-queue.ts'
import type { AuditFilter, AuditView, KeyGroup, LeafWindow, ReadableIndex, RunGroup } from '../../store/audit-index.ts'
import type { EventStore } from '../../store/event-store.ts'
import { type AuditEvent, type EventDeps, eventsOf, linksOf } from './audit-events.ts'
import type { AsOf } from './audit-reads.ts'
import { compareBytes, missingRevisions, runGroup, runNames, spanOf, summedGroups } from './sliced-groups.ts'

/** Maximum number of keys in the lifetime of a ledger. */
const KEYS_MAX = 1_000

export interface GroupDeps extends EventDeps {
  readonly index: ReadableIndex
  readonly store: Pick<EventStore, 'readStream' | 'comparePositions'>
}

/** A query with everything that its answer needs. */
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
  /** Total number of groups, on all pages. */
  readonly total?: number
  /** For a `whole` answer: the sums of the groups that it does not list. */
  readonly rest?: readonly JsonObject[]
}

export const texts = (after: readonly Json[] | undefined): readonly string[] | undefined => after?.map(String)

export async function runsAnswer(
  deps: GroupDeps,
  { view, filter, after, limit, pace }: GroupAsk,
  openOnly: boolean,
): Promise<GroupAnswer> {
  const last = texts(after)?.[0]
  const names: string[] = []
  let total = 0
  for await (const runs of runNames(deps.index, view, { filter, pace, openOnly })) {
    total += runs.length
    for (const run of runs) if ((last === undefined || run > last) && names.length <= limit) names.push(run)
  }
  const shown = names.slice(0, limit)
  const next = names.length > limit ? { next: [shown.at(-1) ?? ''] } : {}
  return { items: await runBodies(deps, shown, { view, pace }), ...next, total }
}

interface KeyPeriod {
  readonly kid: string
  readonly announced: string
  readonly retired?: string
}

/** A key is in use from the event that announces it until the event that announces the next one. */
export async function keysAnswer(deps: GroupDeps, ask: GroupAsk): Promise<GroupAnswer> {
  const { filter, limit } = ask
  const periods = await keyPeriods(deps, ask.asOf)
  const groups = await keyGroups(deps, ask, filter)
  const items: JsonObject[] = []
  for (const { kid, events, firstTime, lastTime } of groups.slice(0, limit)) {
    const { announced, retired } = periods.find((each) => each.kid === kid) ?? {}
    const outside = async (part: Pick<AuditFilter, 'since' | 'until'>): Promise<number> =>
      (await keyGroups(deps, { ...ask, after: undefined, limit: 0 }, { ...narrowed(filter, part), kid }))[0]?.events ??
      0
    items.push({
      kid,
      events,
      first: firstTime,
      last: lastTime,
      announced: announced ?? null,
      retired: retired ?? null,
      before: announced === undefined ? events : await outside({ until: announced }),
      after: retired === undefined ? 0 : await outside({ since: retired }),
    })
  }
  const last = groups[limit - 1]
  return { items, ...(groups.length > limit && last !== undefined && { next: [last.kid] }) }
}

function keyGroups(
  { index }: GroupDeps,
  { view, after, limit, pace }: GroupAsk,
  filter: AuditFilter,
): Promise<readonly KeyGroup[]> {
  const page = { after: texts(after), limit: limit + 1 }
  const groupsOf = (window: LeafWindow) => index.keys(view, filter, { ...page, window })
  const summed = {
    groupsOf,
    add: addKeys,
    compare: (a: KeyGroup, b: KeyGroup) => compareBytes(a.kid, b.kid),
    limit: limit + 1,
  }
  return summedGroups(summed, { size: view.size, pace })
}

function addKeys(a: KeyGroup, b: KeyGroup): KeyGroup {
  return { kid: a.kid, events: a.events + b.events, ...spanOf(a, b) }
}

/** Intersects both periods. */
function narrowed(filter: AuditFilter, { since, until }: Pick<AuditFilter, 'since' | 'until'>): AuditFilter {
  const later = [since, filter.since]
    .filter((time) => time !== undefined)
    .sort()
    .at(-1)
  const earlier = [until, filter.until].filter((time) => time !== undefined).sort()[0]
  const { since: _, until: __, ...rest } = filter
  return { ...rest, ...(later !== undefined && { since: later }), ...(earlier !== undefined && { until: earlier }) }
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

type ReadFilter = Pick<AuditFilter, 'actor' | 'actorContains' | 'run' | 'runContains'>

/** A missing member matches no part. */
const isPartOf = (part: string | undefined, text: Json | undefined): boolean =>
  part === undefined || (typeof text === 'string' && hasPart(text, part))

/** One row per read. `only` filters the reads, because one event holds all reads of its interval. */
export function accessItems(
  events: readonly AuditEvent[],
  only: ReadFilter & { readonly verdicts: boolean },
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
      .filter((read) => isPartOf(only.actorContains, read.actor) && isPartOf(only.runContains, read.run))
      .filter((read) => !only.verdicts || read.verdict !== undefined)
      .map((read) => ({ ...read, ...place }))
  })
}

function exportRead({ time, actor, principal }: Header, { v: _, ...data }: JsonObject): JsonObject {
  return { at: time, actor, ...(principal !== undefined && { principal }), query: 'export', ...data }
}

/** Orders runs by a digest of seed and name; the first ones are the sample. */
export async function sampleAnswer(
  deps: GroupDeps,
  { view, filter, after, limit, pace }: GroupAsk,
  seed: string,
): Promise<GroupAnswer> {
  const drawn: { readonly rank: string; readonly run: string }[] = []
  const keepFirst = (): unknown => drawn.sort((a, b) => (a.rank < b.rank ? -1 : 1)).splice(limit + 1)
  const last = texts(after)?.[0] ?? ''
  let total = 0
  for await (const runs of runNames(deps.index, view, { filter, pace })) {
    total += runs.length
    for (const run of runs) {
      const rank = rankOf(seed, run)
      if (rank > last) drawn.push({ rank, run })
      // Keeps at most two pages, so that sorting does not take longer with more runs.
      if (drawn.length > 2 * (limit + 1)) keepFirst()
    }
  }
  keepFirst()
  const shown = drawn.slice(0, limit)
  const runs = shown.map(({ run }) => run)
  const bodies = await runBodies(deps, runs, { view, pace })
  const items = bodies.map((body, at) => ({ ...body, rank: shown[at]?.rank ?? '', seed }))
  const isMore = drawn.length > limit
  return { items, ...(isMore && { next: [drawn[limit - 1]?.rank ?? ''] }), total }
}

function rankOf(seed: string, run: string): string {
  return createHash('sha256').update(`countersign/sample/v1\n${seed}\n${run}`).digest('hex')
}

// Runs as list items: aggregated from their rows in the index, with the outcome of a rollback, which only its event contains.

/** Maximum number of missing revisions that an item names; their count is complete. */
const MISSING_SHOWN = 20
const ROLLED_BACK = 'RunCompensated' satisfies EventType

interface RunDeps extends EventDeps {
  readonly index: ReadableIndex
}

interface RunAsk {
  readonly view: AuditView
  readonly pace: Pace | undefined
}

type FoundRun = RunGroup & { readonly missing: readonly number[] }

/** Items in the order of `names`. Throws `DamagedIndexError`, and `ReaderLeftError` if the reader of `pace` has left. */
async function runBodies(deps: RunDeps, names: readonly string[], ask: RunAsk): Promise<readonly JsonObject[]> {
  const groups: FoundRun[] = []
  for (const name of names) groups.push(await foundRun(deps, name, ask))
  const rollbacks = await rollbacksOf(deps, groups, ask)
  return groups.map((group) => runBody(group, rollbacks.get(group.end?.leaf ?? -1)))
}

async function foundRun({ index }: RunDeps, name: string, { view, pace }: RunAsk): Promise<FoundRun> {
  const group = await runGroup(index, view, { run: name, pace })
  if (group === undefined) throw new TypeError(`the index lists ${name} and has no event of it`)
  const isComplete = group.lastRevision + 1 === group.events
  return {
    ...group,
    missing: isComplete ? [] : await missingRevisions(index, view, { run: name, limit: MISSING_SHOWN, pace }),
  }
}

/** By the leaf of the end event: the verdict of the rollback, and `seal` if that event does not verify. */
async function rollbacksOf(
  deps: RunDeps,
  groups: readonly RunGroup[],
  { view: { tenant }, pace }: RunAsk,
): Promise<ReadonlyMap<number, JsonObject>> {
  const rows = groups.flatMap(({ run, end }) => {
    if (end?.type !== ROLLED_BACK) return []
    const row = deps.index.row(tenant, end.leaf)
    if (row === undefined) throw new TypeError(`the index ends ${run} with event ${end.leaf} and has no row of it`)
    return [row]
  })
  const events = await eventsOf(deps, rows, pace)
  return new Map(
    events.map(({ leaf, data, seal }) => {
      const verdict = ROLLBACK_VERDICTS.find((each) => each === data.status)
      return [leaf, { ...(verdict !== undefined && { compensation: verdict }), ...(seal === 'invalid' && { seal }) }]
    }),
  )
}

function runBody(group: FoundRun, rollback: JsonObject | undefined): JsonObject {
  const { run, events, firstRevision, lastRevision, firstTime, lastTime, missing, rejections, end } = group
  const missingCount = lastRevision + 1 - events
  return {
    run,
    started: firstTime,
    last: lastTime,
    ...{ events, firstRevision, lastRevision, missingCount, missing },
    status: end === undefined ? 'open' : (declarationOf(end.type)?.changes.run ?? end.type),
    ...rollback,
    rejections,
    links: { run: `/v1/runs/${run}`, events: `/v1/runs/${run}/events` },
  }
}
