/** @module `countersign report RUN`: one run on one page: participants, times, verdicts, spending, open points, and the limits of the proof. */

import { isJsonObject, type Json, type JsonObject, parseJson } from '../../schemas/json.ts'
import { type Loss, lossesText } from '../../schemas/loss.ts'
import { type Api, openApi, type Params, pastOf } from './api.ts'
import type { Arguments } from './arguments.ts'
import { runIdOf } from './run-id.ts'
import { cellText, jsonLine, oneLine } from './shown.ts'
import { lineOf, stdout, widthsOf } from './table.ts'
import { type Paint, painter } from './terminal.ts'

/** Maximum rows of one section; further rows are only counted. */
const ROWS_MAX = 200
const LABEL_COLUMN = 18
const PAGE_COLUMNS = 110

const LIMITS = [
  'This report is made from the recorded events; their seals were checked one by one as they were read.',
  'It shows what was recorded, by whom and in which order, not that an agent told the truth.',
  'That nothing is missing is shown by "countersign verify" against a checkpoint that was stored elsewhere.',
]

/** Columns of sums of spending. */
const SPENDING = ['key', 'tokens', 'cost', 'reportedCost', 'estimatedCost', 'currency']

export interface RunReport {
  readonly run: JsonObject
  readonly events: JsonObject
  readonly people: readonly JsonObject[]
  readonly handoffs: readonly JsonObject[]
  readonly rejections: readonly JsonObject[]
  readonly refusals: readonly JsonObject[]
  readonly calls: readonly JsonObject[]
  readonly spendByAgent: readonly JsonObject[]
  readonly spendByModel: readonly JsonObject[]
  /** Places that the agents declared to move. */
  readonly declared: readonly JsonObject[]
  readonly openSuspects: readonly JsonObject[]
  readonly openCalls: readonly JsonObject[]
  readonly openReservations: readonly JsonObject[]
  readonly openCompensations: readonly JsonObject[]
  readonly verdict: JsonObject
  readonly asOf: Json
}

export async function report(inputs: Arguments): Promise<number> {
  const run = runIdOf(inputs)
  const { opened, params } = pastOf(inputs)
  await using api = await openApi(inputs, { ...opened, isCounted: true })
  const made = await runReport(api, run, params)
  if (inputs.has('json')) stdout.write(jsonLine(made as unknown as Json))
  else stdout.write(reportText(made, painter(stdout)))
  return api.exitCode()
}

/** All sections are pinned to the size of the log that the first query saw. */
export async function runReport(api: Api, run: string, past: Params = {}): Promise<RunReport> {
  const state = await api.get(`/v1/runs/${run}`, past)
  const population = await api.get('/v1/audit/runs', { run, ...past })
  const { asOf } = population
  const treeSize = isJsonObject(asOf) ? Number(asOf.treeSize) : 0
  const rows = (query: string, more: Readonly<Record<string, string>> = {}) =>
    collect(api.items(`/v1/audit/${query}`, { run, asOf: treeSize, ...more }))
  const [events = {}] = Array.isArray(population.items) ? (population.items as readonly JsonObject[]) : []
  return {
    run: state,
    events,
    people: peopleOf(await rows('events')),
    handoffs: await rows('events', { types: 'EnvelopeAccepted' }),
    rejections: await rows('rejections'),
    refusals: await rows('refusals'),
    calls: await collect(api.items(`/v1/runs/${run}/calls`, past)),
    spendByAgent: await rows('spend', { by: 'agent' }),
    spendByModel: await rows('spend', { by: 'model' }),
    declared: Array.isArray(state.declared) ? (state.declared as readonly JsonObject[]) : [],
    openSuspects: await collect(api.items(`/v1/runs/${run}/suspects`, past)),
    openCalls: withOverdue(await rows('open-calls'), state),
    openReservations: await rows('open-reservations'),
    openCompensations: await rows('open-compensations'),
    verdict: await verdictOf(api, run, past),
    asOf: asOf ?? null,
  }
}

async function collect(items: AsyncIterable<JsonObject>): Promise<readonly JsonObject[]> {
  const found: JsonObject[] = []
  for await (const item of items) found.push(item)
  return found
}

/** Overdue leases come from the run's current state; the index answers as of a size of the log, independent of the clock. */
function withOverdue(calls: readonly JsonObject[], { openCalls }: JsonObject): readonly JsonObject[] {
  const open = Array.isArray(openCalls) ? openCalls.filter((each) => isJsonObject(each)) : []
  const over = new Set(open.filter(({ overdue }) => overdue === true).map(({ callId }) => callId))
  return calls.map((each) => (over.has(each.call) ? { ...each, overdue: true } : each))
}

/** Actors, their principals, and the number of their events. */
function peopleOf(events: readonly JsonObject[]): readonly JsonObject[] {
  const counts = new Map<string, { actor: Json; principal: Json; events: number; sealsBroken: number }>()
  for (const { actor = null, principal = null, seal } of events) {
    const key = JSON.stringify([actor, principal])
    const known = counts.get(key) ?? { actor, principal, events: 0, sealsBroken: 0 }
    known.events += 1
    if (seal === 'invalid') known.sealsBroken += 1
    counts.set(key, known)
  }
  return [...counts.values()].map((each) => ({ ...each }))
}

/** The last line of a replay, which verifies and folds the run again. */
async function verdictOf(api: Api, run: string, past: Params): Promise<JsonObject> {
  let text = ''
  for await (const chunk of api.text(`/v1/runs/${run}/replay`, past, new AbortController().signal)) text += chunk
  return parseJson(text.trimEnd().split('\n').at(-1) ?? '{}') as JsonObject
}

export function reportText(made: RunReport, paint: Paint): string {
  const { run, events, verdict } = made
  const colour = verdict.verdict === 'VERIFIED' ? 'green' : 'red'
  const head = [
    paint(`Run ${cellText(run.runId)}  ${cellText(run.name)}`, 'bold'),
    line('status', run.status),
    ...rollbackLines(run, paint),
    line('from, to', `${cellText(events.started)}  ${cellText(events.last)}`),
    line('events', `${cellText(events.events)}, missing: ${cellText(events.missingCount)}`),
    line('log', made.asOf),
    `${'replay'.padEnd(LABEL_COLUMN)}${paint(cellText(verdict.verdict), colour)}`,
    ...lostLines(run, paint),
  ]
  const parts: readonly [string, readonly JsonObject[], readonly string[]][] = [
    ['Who acted, for whom', made.people, ['actor', 'principal', 'events', 'sealsBroken']],
    ['Handoffs', made.handoffs, ['time', 'revision', 'agent', 'marks', 'rules']],
    ['Refused handoffs', made.rejections, ['time', 'revision', 'agent', 'rules', 'rewind']],
    ['Refused requests', made.refusals, ['time', 'revision', 'actor', 'rules', 'detail']],
    ['Calls', made.calls, ['tool', 'status', 'attempt', 'agent', 'callId']],
    ['Places declared to move', made.declared, ['path', 'as', 'agent', 'step', 'reason']],
    ['Spending by agent', made.spendByAgent, SPENDING],
    ['Spending by model', made.spendByModel, SPENDING],
  ]
  const open: typeof parts = [
    ['Changes that nothing explains', made.openSuspects, ['id', 'path', 'before', 'after', 'agent', 'count']],
    ['Calls without an outcome', made.openCalls, ['time', 'tool', 'status', 'overdue', 'call']],
    ['Reservations never settled', made.openReservations, ['time', 'agent', 'status', 'reservation']],
    ['Compensations failed or unknown', made.openCompensations, ['time', 'tool', 'verdict', 'compensates']],
  ]
  const nothingOpen = open.every(([, rows]) => rows.length === 0) ? [`  ${paint('nothing', 'green')}`] : []
  return [
    ...head,
    ...parts.flatMap(([title, rows, columns]) => section(paint(title, 'bold'), rows, columns)),
    '',
    paint('Open points', 'bold'),
    ...nothingOpen,
    ...open.flatMap(([title, rows, columns]) =>
      rows.length === 0 ? [] : section(`  ${title}`, rows, columns).slice(1),
    ),
    '',
    paint('Limits of this report', 'bold'),
    ...LIMITS.map((text) => `  ${text}`),
    '',
  ].join('\n')
}

/** Known losses of the run, of its tenant's log, or of the store. */
function lostLines({ losses }: JsonObject, paint: Paint): readonly string[] {
  if (!Array.isArray(losses) || losses.length === 0) return []
  return [`${'lost'.padEnd(LABEL_COLUMN)}${paint(oneLine(lossesText(losses as unknown as readonly Loss[])), 'red')}`]
}

/** A rollback that left something undone is highlighted. */
function rollbackLines({ compensation }: JsonObject, paint: Paint): readonly string[] {
  if (compensation === undefined) return []
  const text = cellText(compensation)
  return [`${'rollback'.padEnd(LABEL_COLUMN)}${compensation === 'COMPENSATED' ? text : paint(text, 'red')}`]
}

function line(label: string, value: Json | undefined): string {
  return `${label.padEnd(LABEL_COLUMN)}${cellText(value)}`
}

function section(title: string, rows: readonly JsonObject[], columns: readonly string[]): readonly string[] {
  if (rows.length === 0) return ['', title, '  none']
  const part = rows.slice(0, ROWS_MAX)
  const widths = widthsOf(columns, part, PAGE_COLUMNS)
  const lines = [columns, ...part.map((row) => columns.map((name) => cellText(row[name])))]
  const more = rows.length > ROWS_MAX ? [`  and ${rows.length - ROWS_MAX} more`] : []
  return ['', title, ...lines.map((cells) => `  ${lineOf(cells, widths).trimEnd()}`), ...more]
}
