/** @module Sums of spending: from precomputed sums of whole blocks of the log if the filter allows it, otherwise from the single charges. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RunEventType } from '../../../schemas/events.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { fromNano } from '../../../schemas/money.ts'
import { ScanWindow } from '../../resources/scan-window.ts'
import {
  type LeafWindow,
  type RunPlace,
  type SpendBy,
  type SpendGroup,
  type SpendWindow,
  SUM_BLOCK_LEAVES,
  SUMMED_TIME_CHARS,
  type SummedBy,
} from '../../store/audit-index.ts'
import { type GroupAnswer, type GroupAsk, type GroupDeps, texts } from './audit-groups.ts'
import { compareBytes, mergedGroups, STRETCH_ROWS, type Summing, summedGroups } from './sliced-groups.ts'

/** Number of blocks in the first statement over sums; the next numbers depend on its duration. */
const FIRST_BLOCKS = 64
/** The part of a timestamp after the hour, if it is the start of an hour. */
const HOUR_START = /^:00:00(?:\.0+)?Z$/

export async function spendAnswer(
  { index }: Pick<GroupDeps, 'index'>,
  ask: GroupAsk,
  by: SpendBy,
): Promise<GroupAnswer> {
  const { limit } = ask
  const groups = by === 'run' ? await spendOfRuns(index, ask) : await spendOfLog(index, ask, by)
  const items = groups.slice(0, limit).map((group) => spendItem(group, { by, filter: ask.filter }))
  const last = groups[limit - 1]
  return { items, ...(groups.length > limit && last !== undefined && { next: [last.key, last.currency ?? ''] }) }
}

/** Types of events that may charge a run: the figures of a run are sums over its events of these types (HTTP-77). */
const CHARGED_BY = [
  'UsageRecorded',
  'ReservationExpired',
  'EnvelopeAccepted',
  'EnvelopeRejected',
  'BranchOffered',
  'BranchReceived',
] as const satisfies readonly RunEventType[]

function spendItem(group: SpendGroup, { by, filter }: { readonly by: SpendBy } & Pick<GroupAsk, 'filter'>): JsonObject {
  const { key, currency } = group
  const { since, until } = filter
  const period = [since && `&since=${since}`, until && `&until=${until}`].filter(Boolean).join('')
  return {
    key,
    by,
    ...amountsOf(group),
    currency: currency ?? null,
    ...(by === 'run' && {
      links: { run: `/v1/runs/${key}`, events: `/v1/audit/events?run=${key}&types=${CHARGED_BY.join(',')}${period}` },
    }),
  }
}

type Amounts = Pick<SpendGroup, 'tokens' | 'costNano' | 'estimatedTokens' | 'estimatedNano'>

function amountsOf({ tokens, costNano, estimatedTokens, estimatedNano }: Amounts): JsonObject {
  return {
    tokens,
    cost: fromNano(costNano),
    reportedTokens: tokens - estimatedTokens,
    reportedCost: fromNano(costNano - estimatedNano),
    estimatedTokens,
    estimatedCost: fromNano(estimatedNano),
  }
}

/** The `limit` largest groups of each currency (for days and months the newest), and the sums of all others. */
export async function largestSpend(
  { index }: Pick<GroupDeps, 'index'>,
  ask: GroupAsk,
  by: SpendBy,
): Promise<GroupAnswer> {
  const isTime = by === 'day' || by === 'month'
  const largest = new Largest(ask.limit, isTime ? (a, b) => compareBytes(b.key, a.key) : compareAmounts)
  if (by === 'run') {
    for await (const groups of finishedRuns(index, ask, START)) for (const group of groups) largest.add(group)
  } else {
    const all = await spendOfLog(index, { ...ask, after: undefined, limit: ALL_GROUPS }, by)
    for (const group of all) largest.add(group)
  }
  const { groups, rest } = largest.ended()
  if (isTime) groups.sort(compareSpend)
  return { items: groups.map((group) => spendItem(group, { by, filter: ask.filter })), rest }
}

function compareAmounts(a: SpendGroup, b: SpendGroup): number {
  if (a.costNano !== b.costNano) return a.costNano > b.costNano ? -1 : 1
  return b.tokens - a.tokens || compareBytes(a.key, b.key)
}

interface Rest extends Amounts {
  readonly groups: number
}

/** Keeps a limited number of groups per currency, and the sums of those that it drops. */
class Largest {
  readonly #limit: number
  readonly #compare: (a: SpendGroup, b: SpendGroup) => number
  readonly #kept = new Map<string, SpendGroup[]>()
  readonly #rest = new Map<string, Rest>()

  constructor(limit: number, compare: (a: SpendGroup, b: SpendGroup) => number) {
    this.#limit = limit
    this.#compare = compare
  }

  add(group: SpendGroup): void {
    const { currency = '' } = group
    const kept = this.#kept.get(currency) ?? []
    kept.push(group)
    this.#kept.set(currency, kept)
    if (kept.length > 2 * this.#limit) this.#cut(currency, kept)
  }

  ended(): { readonly groups: SpendGroup[]; readonly rest: readonly JsonObject[] } {
    for (const [currency, kept] of this.#kept) this.#cut(currency, kept)
    const rest = [...this.#rest].map(([currency, { groups, ...amounts }]) => {
      return { currency: currency === '' ? null : currency, groups, ...amountsOf(amounts) }
    })
    return { groups: [...this.#kept.values()].flat(), rest }
  }

  #cut(currency: string, kept: SpendGroup[]): void {
    kept.sort(this.#compare)
    for (const group of kept.splice(this.#limit)) {
      const rest = this.#rest.get(currency)
      this.#rest.set(currency, { groups: 1 + (rest?.groups ?? 0), ...(rest ? addAmounts(rest, group) : group) })
    }
  }
}

type Index = GroupDeps['index']

const START: RunPlace = { run: '', revision: -1 }
/** A limit that SQLite accepts as no limit. */
const ALL_GROUPS = Number.MAX_SAFE_INTEGER - 1

async function spendOfLog(index: Index, ask: GroupAsk, by: SummedBy): Promise<readonly SpendGroup[]> {
  const { view, filter, after, pace } = ask
  const { agent, provider, model, since, until, ...rest } = filter
  const page = { after: texts(after), limit: ask.limit + 1, by }
  const summing = summingTo(page.limit)
  const groupsOf = (window: LeafWindow) => index.spend(view, filter, { ...page, window })
  const isSummed = Object.values(rest).every((value) => value === undefined)
  if (!isSummed) return summedGroups({ ...summing, groupsOf }, { size: view.size, pace })

  const summed = { agent, provider, model }
  const { hours, except } = hoursOf({ since, until })
  const blocks = Math.floor(view.size / SUM_BLOCK_LEAVES)
  const blockPage = { ...page, hours, except }
  let sums = await summedGroups(
    { ...summing, groupsOf: (window) => index.spendOfBlocks(view, summed, { ...blockPage, blocks: window }) },
    { size: blocks, pace, window: new ScanWindow(undefined, FIRST_BLOCKS) },
  )
  // Where an hour counts only in part, and after the last whole block, each charge is read.
  for (const block of [...index.spendBlocksAt(view, except), blocks]) {
    const wait = pace?.turn()
    if (wait !== undefined) await wait
    const from = block * SUM_BLOCK_LEAVES
    sums = mergedGroups(sums, groupsOf({ after: from - 1, upTo: from + SUM_BLOCK_LEAVES - 1 }), summing)
  }
  return sums
}

/** The hours that lie completely within the period, and those that its limits cut. */
function hoursOf({ since, until }: { readonly since: string | undefined; readonly until: string | undefined }) {
  const hourOf = (time: string): string => time.slice(0, SUMMED_TIME_CHARS)
  const cut = [since, until].filter((time) => time !== undefined && !HOUR_START.test(time.slice(SUMMED_TIME_CHARS)))
  const except = [...new Set(cut.map((time) => hourOf(time ?? '')))]
  return { hours: { from: since && hourOf(since), before: until && hourOf(until) }, except }
}

/** Sums run by run until the page is full; later runs are not read. */
async function spendOfRuns(index: Index, ask: GroupAsk): Promise<readonly SpendGroup[]> {
  const { after, limit } = ask
  const [lastRun = '', lastCurrency] = texts(after) ?? []
  const isBehind = (group: SpendGroup): boolean =>
    lastCurrency === undefined || compareSpend(group, { key: lastRun, currency: lastCurrency }) > 0
  const page: SpendGroup[] = []
  for await (const groups of finishedRuns(index, ask, { run: lastRun, revision: -1 })) {
    page.push(...groups.filter(isBehind))
    if (page.length > limit) break
  }
  return page.slice(0, limit + 1)
}

/** The groups of runs in their order, each yielded once the walk has passed its last event. */
async function* finishedRuns(
  index: Index,
  { view, filter, pace }: GroupAsk,
  from: RunPlace,
): AsyncGenerator<readonly SpendGroup[], void> {
  const summing = summingTo(Number.POSITIVE_INFINITY)
  let begun: readonly SpendGroup[] = []
  for (let place: RunPlace | undefined = from; place !== undefined; ) {
    const wait = pace?.turn()
    if (wait !== undefined) await wait
    const { groups, next }: SpendWindow = index.spendOfRuns(view, filter, { after: place, rows: STRETCH_ROWS })
    const sums = mergedGroups(begun, groups, summing)
    // The last run of this stretch may continue in the next one.
    yield sums.filter(({ key }) => key !== next?.run)
    begun = sums.filter(({ key }) => key === next?.run)
    place = next
    if (pace === undefined) await nextTurn()
  }
}

function summingTo(limit: number): Summing<SpendGroup> {
  return { add: addSpend, compare: compareSpend, limit }
}

function addSpend(a: SpendGroup, b: SpendGroup): SpendGroup {
  return { ...a, ...addAmounts(a, b) }
}

function addAmounts(a: Amounts, b: Amounts): Amounts {
  return {
    tokens: a.tokens + b.tokens,
    costNano: a.costNano + b.costNano,
    estimatedTokens: a.estimatedTokens + b.estimatedTokens,
    estimatedNano: a.estimatedNano + b.estimatedNano,
  }
}

type SpendKey = Pick<SpendGroup, 'key' | 'currency'>

function compareSpend(a: SpendKey, b: SpendKey): number {
  return compareBytes(a.key, b.key) || compareBytes(a.currency ?? '', b.currency ?? '')
}
