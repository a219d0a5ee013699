/** @module What was spent: from the sums of whole blocks of the log where the filter lets it, from the charges themselves where it does not. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fromNano } from '../../../schemas/money.ts'
import { ScanWindow } from '../../resources/scan-window.ts'
import {
  type LeafWindow,
  type RunPlace,
  type SpendBy,
  type SpendGroup,
  SUM_BLOCK_LEAVES,
  SUMMED_TIME_CHARS,
  type SummedBy,
} from '../../store/audit-index.ts'
import { type GroupAnswer, type GroupAsk, type GroupDeps, texts } from './audit-groups.ts'
import { compareBytes, mergedGroups, STRETCH_ROWS, type Summing, summedGroups } from './sliced-groups.ts'

/** Of the first statement over sums; how many the next ones take follows from its time. */
const FIRST_BLOCKS = 64
/** What whole hours begin with. */
const HOUR_START = /^:00:00(?:\.0+)?Z$/

export async function spendAnswer(
  { index }: Pick<GroupDeps, 'index'>,
  ask: GroupAsk,
  by: SpendBy,
): Promise<GroupAnswer> {
  const { limit } = ask
  const groups = by === 'run' ? await spendOfRuns(index, ask) : await spendOfLog(index, ask, by)
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

type Index = GroupDeps['index']

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
  // Where an hour counts in part, and behind the last whole block, each charge is looked at.
  for (const block of [...index.spendBlocksAt(view, except), blocks]) {
    const wait = pace?.turn()
    if (wait !== undefined) await wait
    const from = block * SUM_BLOCK_LEAVES
    sums = mergedGroups(sums, groupsOf({ after: from - 1, upTo: from + SUM_BLOCK_LEAVES - 1 }), summing)
  }
  return sums
}

/** Hours that lie in the period whole, and those that it cuts. */
function hoursOf({ since, until }: { readonly since: string | undefined; readonly until: string | undefined }) {
  const hourOf = (time: string): string => time.slice(0, SUMMED_TIME_CHARS)
  const cut = [since, until].filter((time) => time !== undefined && !HOUR_START.test(time.slice(SUMMED_TIME_CHARS)))
  const except = [...new Set(cut.map((time) => hourOf(time ?? '')))]
  return { hours: { from: since && hourOf(since), before: until && hourOf(until) }, except }
}

/** Run by run, until the page is full: what comes behind it is not read. */
async function spendOfRuns(index: Index, ask: GroupAsk): Promise<readonly SpendGroup[]> {
  const { view, filter, after, limit, pace } = ask
  const [lastRun = '', lastCurrency] = texts(after) ?? []
  const isBehind = (group: SpendGroup): boolean =>
    lastCurrency === undefined || compareSpend(group, { key: lastRun, currency: lastCurrency }) > 0
  const summing = summingTo(Number.POSITIVE_INFINITY)
  let groups: readonly SpendGroup[] = []
  for (let place: RunPlace | undefined = { run: lastRun, revision: -1 }; place !== undefined; ) {
    const wait = pace?.turn()
    if (wait !== undefined) await wait
    const { groups: found, next } = index.spendOfRuns(view, filter, { after: place, rows: STRETCH_ROWS })
    groups = mergedGroups(groups, found.filter(isBehind), summing)
    place = next
    // The run of the last stretch may go on: a page is full with a group of a run before it.
    if (groups.filter(({ key }) => key !== place?.run).length > limit) break
    if (pace === undefined) await nextTurn()
  }
  return groups.slice(0, limit + 1)
}

function summingTo(limit: number): Summing<SpendGroup> {
  return { add: addSpend, compare: compareSpend, limit }
}

function addSpend(a: SpendGroup, b: SpendGroup): SpendGroup {
  return { ...a, tokens: a.tokens + b.tokens, costNano: a.costNano + b.costNano }
}

type SpendKey = Pick<SpendGroup, 'key' | 'currency'>

function compareSpend(a: SpendKey, b: SpendKey): number {
  return compareBytes(a.key, b.key) || compareBytes(a.currency ?? '', b.currency ?? '')
}
