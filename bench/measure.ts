/** @module Measures the rows of the performance contract and compares them with their floors and targets. */
import { tmpdir } from 'node:os'
import { archiveHold } from './archive-hold.ts'
import type { BenchGroup } from './bench.ts'
import { busyLatency } from './busy-latency.ts'
import { canonical } from './canonical.ts'
import { durableSteps } from './durable-steps.ts'
import { eventStoreDb } from './eventstoredb.ts'
import { eventStoreDbHttp } from './eventstoredb-http.ts'
import { exportMemory } from './export-memory.ts'
import { exportSpeed } from './export-speed.ts'
import { httpAppend } from './http-append.ts'
import { inProcess } from './in-process.ts'
import { judgeHold } from './judge-hold.ts'
import { judgePairs } from './judge-pairs.ts'
import { judgeSlowest } from './judge-slowest.ts'
import { longRun } from './long-run.ts'
import { busyWarning, describeMachine, type Machine, machineLine } from './machine.ts'
import { mcpHttp } from './mcp-http.ts'
import { mcpProxy } from './mcp-proxy.ts'
import { merkleLog } from './merkle-log.ts'
import { modelGateway } from './model-gateway.ts'
import { neighbours } from './neighbours.ts'
import { type BenchOptions, isWanted, readOptions, USAGE } from './options.ts'
import { postgres } from './postgres.ts'
import { formatNotes, formatTable, type Row, rowStatus } from './report.ts'
import { resume } from './resume.ts'
import { type Results, runGroups } from './run-groups.ts'
import { scaleTable } from './scale.ts'
import { starvation } from './starvation.ts'
import { steps } from './steps.ts'
import { verifySpeed } from './verify-speed.ts'
import { waitingWorker } from './waiting-worker.ts'

const GROUPS: readonly BenchGroup[] = [
  httpAppend,
  busyLatency,
  starvation,
  neighbours,
  inProcess,
  steps,
  canonical,
  judgePairs,
  judgeHold,
  judgeSlowest,
  archiveHold,
  verifySpeed,
  longRun,
  exportMemory,
  exportSpeed,
  merkleLog,
  resume,
  waitingWorker,
  mcpProxy,
  mcpHttp,
  modelGateway,
  eventStoreDb,
  eventStoreDbHttp,
  postgres,
  durableSteps,
]
const EXIT = { ok: 0, floorMissed: 1, usage: 2, broken: 3 } as const

const say = (text: string): void => void process.stderr.write(`${text}\n`)

function verdict({ rows, skipped, broken }: Results, { quick }: BenchOptions): string {
  const missed = rows.filter((row) => rowStatus(row) === 'FLOOR MISSED').map(({ id }) => id)
  const passed = missed.length === 0 ? 'no floor is missed' : `FLOOR MISSED: ${missed.join(', ')}`
  const about = quick ? 'measured for too short a time to say anything' : passed
  const parts = [
    rows.length === 0 ? 'nothing was measured' : about,
    ...(broken.length === 0 ? [] : [`BROKEN: ${broken.join(', ')}`]),
    ...(skipped.length === 0 ? [] : [`skipped: ${skipped.join(', ')}`]),
  ]
  return parts.join('; ')
}

async function main(options: BenchOptions): Promise<number> {
  const machine = describeMachine()
  const warning = busyWarning(machine)
  if (warning !== undefined) say(`warning: ${warning}`)
  if (options.scale.length > 0) {
    const table = await scaleTable(options, say)
    process.stdout.write(`${machineLine(machine)}\n\n${table}\n`)
    return EXIT.ok
  }
  const wanted = GROUPS.filter(({ ids }) => isWanted(options, ids))
  const results = await runGroups(wanted, options, say)
  const { seconds, rounds } = options
  const report = { machine, seconds, rounds, ...results, warning, verdict: verdict(results, options) }
  process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : formatReport(report))
  if (results.broken.length > 0) return EXIT.broken
  const isMissed = !options.quick && results.rows.some((row) => rowStatus(row) === 'FLOOR MISSED')
  return isMissed ? EXIT.floorMissed : EXIT.ok
}

interface BenchReport {
  readonly machine: Machine
  readonly seconds: number
  readonly rounds: number
  readonly rows: readonly Row[]
  readonly warning: string | undefined
  readonly verdict: string
}

function formatReport({ machine, seconds, rounds, rows, warning, verdict: verdictText }: BenchReport): string {
  const method = `${rounds} rounds of ${seconds} s; medians; a ratio is the median of the rounds' ratios`
  const parts = [
    `${machineLine(machine)}\n${method}`,
    rows.length === 0 ? '' : formatTable(rows),
    formatNotes(rows),
    warning === undefined ? '' : `warning: ${warning}`,
    verdictText,
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function optionsOrUsage(): BenchOptions | undefined {
  try {
    const options = readOptions(process.argv.slice(2), tmpdir())
    const unknown = options.only.find((id) => !GROUPS.some(({ ids }) => isWanted({ only: [id] }, ids)))
    if (unknown !== undefined) throw new TypeError(`--only: there is no row ${unknown}`)
    return options
  } catch (error) {
    say(`${String(error)}\nusage: ${USAGE}`)
    return undefined
  }
}

// Servers are stopped on `exit`, which a signal alone does not trigger.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(EXIT.broken))

const options = optionsOrUsage()
if (options === undefined) process.exitCode = EXIT.usage
else {
  try {
    process.exitCode = await main(options)
  } catch (error) {
    say(`the bench itself broke: ${error instanceof Error ? error.stack : String(error)}`)
    process.exitCode = EXIT.broken
  }
}
