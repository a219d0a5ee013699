/** @module The data of the overview: each part is queried separately and with few rows, so that a failing part does not affect the others. */
import type { JsonObject } from '../../schemas/json.ts'
import type { RunListFilter } from '../ledger/ledger.ts'
import { asSentence } from './format.ts'
import { textIn } from './item-members.ts'
import { Refused, type View } from './page.ts'
import { queryAudit } from './pages/audit-query.ts'
import { type Row, rowOf } from './run-row.ts'

/** Rows per part. */
const ROWS = 5
/** Number of newest entries of the access record that are counted; if there are more, the card says so. */
const READS = 2_000

/** `why`: the text to show instead of an incomplete answer. */
export type Part<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly why: string }

export interface Reader {
  readonly actor: string
  readonly entries: number
  readonly lastAt: string
  /** Runs that this reader read, newest first. */
  readonly runs: readonly string[]
}

export interface Readers {
  readonly items: readonly Reader[]
  /** Number of newest entries that were counted; absent if these are all. */
  readonly ofNewest?: number
}

export interface Spending {
  /** By agent, the largest first per currency. */
  readonly items: readonly JsonObject[]
  /** Totals of the other agents, by currency. */
  readonly rest: readonly JsonObject[]
}

export interface Overview {
  readonly rejections: Part<readonly JsonObject[]>
  readonly refusals: Part<readonly JsonObject[]>
  readonly failedCompensations: Part<readonly JsonObject[]>
  readonly inDoubt: Part<readonly Row[]>
  readonly overdue: Part<readonly Row[]>
  /** Open runs that wait for a decision, a signal or a time. */
  readonly waiting: Part<readonly Row[]>
  /** Open runs that the code of their last worker could not carry on. */
  readonly stuck: Part<readonly Row[]>
  /** Whether the tenant has any run. */
  readonly hasRuns: Part<boolean>
  readonly spend: Part<Spending>
  readonly readers: Part<Readers>
}

type Asking = Pick<View, 'deps' | 'caller'>

export async function readOverview(view: Asking, since: string | undefined): Promise<Overview> {
  const filter = since === undefined ? {} : { since }
  const newest = { limit: ROWS, newestFirst: true }
  const ask = (name: 'rejections' | 'refusals' | 'open-compensations') =>
    partOf(view, async () => (await queryAudit(view, { name, filter }, newest)).items)
  const runs = (filters: Pick<RunListFilter, 'inDoubt' | 'overdue' | 'waiting' | 'stuck'>) =>
    partOf(view, async () =>
      (await view.deps.ledger.listRuns(view.caller, { ...filters, limit: ROWS })).items.map(rowOf),
    )
  const [rejections, refusals, failedCompensations, inDoubt, overdue, waiting, stuck, hasRuns, spend, readers] =
    await Promise.all([
      ask('rejections'),
      ask('refusals'),
      ask('open-compensations'),
      runs({ inDoubt: true }),
      runs({ overdue: true }),
      runs({ waiting: true }),
      runs({ stuck: true }),
      partOf(view, async () => (await view.deps.ledger.listRuns(view.caller, { limit: 1 })).items.length > 0),
      partOf(view, () => spenders(view, filter)),
      partOf(view, () => readersOf(view)),
    ])
  return { rejections, refusals, failedCompensations, inDoubt, overdue, waiting, stuck, hasRuns, spend, readers }
}

/** Other failures concern the whole store, and so the page. */
const OF_A_PART: ReadonlySet<string> = new Set(['index-building', 'view-behind', 'stream-damaged', 'archive-missing'])

async function partOf<T>({ deps }: Asking, read: () => Promise<T>): Promise<Part<T>> {
  try {
    return { ok: true, value: await read() }
  } catch (error) {
    const known = deps.explainError(error)
    if (known !== undefined && OF_A_PART.has(known.code)) return { ok: false, why: known.detail }
    if (error instanceof Refused) return { ok: false, why: asSentence(error.message) }
    throw error
  }
}

async function spenders(view: Asking, filter: { readonly since?: string }): Promise<Spending> {
  const question = { name: 'spend', filter, by: 'agent', whole: true } as const
  const { items, rest = [] } = await queryAudit(view, question, { limit: ROWS })
  return { items, rest }
}

async function readersOf(view: Asking): Promise<Readers> {
  const { items, next } = await queryAudit(view, { name: 'access', filter: {} }, { limit: READS, newestFirst: true })
  const readers = new Map<string, { actor: string; entries: number; lastAt: string; runs: Set<string> }>()
  for (const item of items) {
    const actor = textIn(item, 'principal') ?? textIn(item, 'actor') ?? ''
    const at = textIn(item, 'until') ?? textIn(item, 'at') ?? ''
    const known = readers.get(actor) ?? { actor, entries: 0, lastAt: at, runs: new Set<string>() }
    const run = textIn(item, 'run')
    known.entries += 1
    if (at > known.lastAt) known.lastAt = at
    if (run !== undefined) known.runs.add(run)
    readers.set(actor, known)
  }
  const shown = [...readers.values()].slice(0, ROWS)
  return {
    items: shown.map((reader) => ({ ...reader, runs: [...reader.runs].slice(0, 3) })),
    ...(next !== undefined && { ofNewest: items.length }),
  }
}
