/** @module A store of a given number of events as agents produce them: runs of 25 events with handoffs, model usage with costs, and a tool call. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openLedger } from '../src/compose/compose.ts'
import { silentLog } from '../src/ledger/effects.ts'
import type { BatchItem, Ledger, Outcome } from '../src/ledger/ledger.ts'
import { readSettings } from '../src/settings/config.ts'
import { envelopeOf } from './envelopes.ts'
import { CALLER, startRun } from './local-ledger.ts'

/** Events of a run: a start, handoffs, model usage, a claim and its outcome. */
const ENVELOPES = 18
const USAGES = 4
export const EVENTS_A_RUN = 1 + ENVELOPES + USAGES + 2
const RUNS_AT_ONCE = 32
/** One in this many runs leaves its call open. */
const OPEN_EVERY = 50
const AGENTS = ['researcher', 'analyst', 'writer', 'reviewer', 'planner', 'editor', 'coder', 'tester']
const MODELS = ['large-1', 'small-1', 'vision-1']

/** The cost of making the store, saved next to it. */
export interface ScaleStore {
  readonly events: number
  /** Id of an event early in the log. */
  readonly eventId: string
  readonly fillSeconds: number
  /** Seconds to publish the rest of the log after the last append; most of it was published in the meantime. */
  readonly publishSeconds: number
  readonly indexSeconds: number
}

const NOTE = 'scale.json'
const MAKING_MEMORY = '512MiB'

/** The store in this folder, which is made if it does not exist. */
export async function scaleStore(data: string, events: number): Promise<ScaleStore> {
  const note = join(data, NOTE)
  if (existsSync(note)) return JSON.parse(readFileSync(note, 'utf8')) as ScaleStore
  const made = await makeStore(data, Math.max(1, Math.round(events / EVENTS_A_RUN)))
  writeFileSync(note, JSON.stringify(made))
  return made
}

async function makeStore(data: string, runs: number): Promise<ScaleStore> {
  // Run list, index and log are written by a separate thread, as on a server with two read threads; new events need no scrub. No run is read again: with the
  // default memory budget, hundreds of megabytes of cached runs would be collected repeatedly.
  const flags = { data, 'read-threads': '2', 'scrub-days': '0', memory: MAKING_MEMORY }
  const settings = { ...readSettings(flags, {}), indexingThread: {} }
  const { ledger, [Symbol.asyncDispose]: close } = await openLedger({ ...settings, auditIfAsked: true }, silentLog)
  const fillSeconds = await seconds(() => filled(ledger, runs))
  const publishSeconds = await seconds(() => ledger.logs?.publish())
  let eventId = ''
  const indexSeconds = await seconds(async () => {
    eventId = await firstEvent(ledger)
  })
  await ledger.listRuns(CALLER, { limit: 1 })
  await close()
  return { events: runs * EVENTS_A_RUN, eventId, fillSeconds, publishSeconds, indexSeconds }
}

async function seconds(work: () => Promise<unknown> | undefined): Promise<number> {
  const startedMs = performance.now()
  await work()
  return (performance.now() - startedMs) / 1_000
}

async function filled(ledger: Ledger, runs: number): Promise<void> {
  let next = 0
  const fill = async (): Promise<void> => {
    for (let run = next++; run < runs; run = next++) await fillRun(ledger, run)
  }
  await Promise.all(Array.from({ length: RUNS_AT_ONCE }, fill))
}

async function fillRun(ledger: Ledger, run: number): Promise<void> {
  const runId = `r${run}`
  await startRun(ledger, runId)
  const commands: BatchItem['command'][] = []
  for (let n = 0; n < ENVELOPES; n += 1) commands.push({ kind: 'envelope', body: envelopeOf(n) })
  for (let n = 0; n < USAGES; n += 1) commands.push({ kind: 'usage', body: usageOf(run + n) })
  commands.push({ kind: 'claim', body: { tool: 'search', args: { query: `revenue of run ${run}`, limit: 10 } } })
  const items = commands.map((command) => ({ runId, command }))
  const outcomes = (await ledger.executeBatch(CALLER, items, {})).map(bodyOf)
  if (run % OPEN_EVERY === 0) return
  const callId = String(outcomes.at(-1)?.callId)
  const result = { rows: [{ year: 2023, revenue: 383 + (run % 100), currency: 'USD' }] }
  const settle = { kind: 'settle', callId, body: { fence: 1, result } } as const
  bodyOf(await ledger.execute(CALLER, runId, settle, {}))
}

function usageOf(n: number) {
  const usage = { tokens: 800 + (n % 500), cost: `0.0${10 + (n % 80)}`, currency: 'USD' }
  const model = MODELS[n % MODELS.length] ?? ''
  return { agent: AGENTS[n % AGENTS.length] ?? '', usage: { ...usage, provider: 'acme', model } }
}

function bodyOf(outcome: Outcome) {
  if (!outcome.ok) throw new Error(`the ledger refused: ${outcome.refusal.code} ${outcome.refusal.detail}`)
  return outcome.body
}

async function firstEvent({ audit }: Ledger): Promise<string> {
  const page = await audit?.ask(CALLER, { name: 'events', filter: { run: 'r0' } }, { limit: 1 })
  if (page?.ok !== true) throw new Error('the index does not answer')
  return String(page.items[0]?.event)
}
