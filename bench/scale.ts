/**
 * @module `npm run bench -- --scale 10000,100000`: how the questions of the command line grow with the store. For each size one store is
 * made and asked, each question by a process of its own, as an auditor without a server asks it: seconds from start to end, and memory.
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { openLedger } from '../src/compose.ts'
import { readSettings } from '../src/config.ts'
import { silentLog } from '../src/ledger/effects.ts'
import type { Ledger } from '../src/ledger/ledger.ts'
import { CALLER, postEnvelopes, startRun } from './local-ledger.ts'
import { makeTempFolder } from './temp-folder.ts'

const ENVELOPES_A_RUN = 24
const RUNS_AT_ONCE = 32
const BIN = fileURLToPath(new URL('../src/cli/main.js', import.meta.url))
const BYTES_A_KIB = 1024
const MIB = 1024 * 1024
/** Says what the process took when it ends. */
const METER = `process.on('exit', () => process.stderr.write(\`\\nrss \${process.resourceUsage().maxRSS}\\n\`))`

interface Asked {
  readonly seconds: number
  readonly mib: number
}

interface Size {
  readonly events: number
  readonly eventsPerSecond: number
  readonly asked: ReadonlyMap<string, Asked>
}

/** The growth table, markdown. `say` is told how far it is. */
export async function scaleTable(
  sizes: readonly number[],
  folder: string,
  say: (text: string) => void,
): Promise<string> {
  const found: Size[] = []
  for (const events of sizes) found.push(await measured(events, folder, say))
  const head = ['question', ...found.map(({ events }) => `${events} events`)]
  const fill = ['made by the ledger', ...found.map(({ eventsPerSecond }) => `${Math.round(eventsPerSecond)} events/s`)]
  const names = [...(found[0]?.asked.keys() ?? [])]
  const rows = names.map((name) => [name, ...found.map(({ asked }) => cell(asked.get(name)))])
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [head, head.map(() => '---'), fill, ...rows].map(line).join('\n')
}

const cell = (asked: Asked | undefined): string =>
  asked === undefined ? '' : `${asked.seconds.toFixed(2)} s, ${Math.round(asked.mib)} MiB`

async function measured(events: number, under: string, say: (text: string) => void): Promise<Size> {
  const folder = makeTempFolder(under)
  using _ = folder
  const data = folder.at('data')
  const startedMs = performance.now()
  const eventId = await filled(data, Math.max(1, Math.round(events / (ENVELOPES_A_RUN + 1))))
  const seconds = (performance.now() - startedMs) / 1_000
  say(`${events} events: made in ${seconds.toFixed(0)} s`)
  const asked = new Map<string, Asked>()
  for (const [name, args] of questions(eventId)) {
    asked.set(name, await ask([...args, '--data', data]))
    say(`${events} events: ${name}: ${cell(asked.get(name))}`)
  }
  return { events, eventsPerSecond: events / seconds, asked }
}

function questions(eventId: string): readonly (readonly [name: string, args: readonly string[]])[] {
  return [
    ['`runs list --limit 20`', ['runs', 'list', '--limit', '20']],
    ['`tail --lines 10`', ['tail', '--lines', '10']],
    ['`proof EVENT`', ['proof', eventId]],
    ['`audit open-calls`', ['audit', 'open-calls']],
    ['`audit events --run r0`', ['audit', 'events', '--run', 'r0']],
    ['`tail --lines 10 --trust-nothing`', ['tail', '--lines', '10', '--trust-nothing']],
  ]
}

/** Runs of so many events each; the files beside the store are brought to its end. Gives the id of an event early in the log. */
async function filled(data: string, runs: number): Promise<string> {
  const { ledger, [Symbol.asyncDispose]: close } = await openLedger(readSettings({ data }, {}), silentLog)
  let next = 0
  const fill = async (): Promise<void> => {
    for (let run = next++; run < runs; run = next++) {
      await startRun(ledger, `r${run}`)
      await postEnvelopes(ledger, `r${run}`, ENVELOPES_A_RUN)
    }
  }
  await Promise.all(Array.from({ length: RUNS_AT_ONCE }, fill))
  await ledger.logs?.publish()
  await ledger.listRuns(CALLER, { limit: 1 })
  const eventId = await firstEvent(ledger)
  await close()
  return eventId
}

async function firstEvent({ audit }: Ledger): Promise<string> {
  const page = await audit?.ask(CALLER, { name: 'events', filter: { run: 'r0' } }, { limit: 1 })
  if (page?.ok !== true) throw new Error('the index does not answer')
  return String(page.items[0]?.event)
}

async function ask(args: readonly string[]): Promise<Asked> {
  const startedMs = performance.now()
  const meter = ['--import', `data:text/javascript,${encodeURIComponent(METER)}`]
  const child = spawn(process.execPath, [...meter, BIN, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  const code = await new Promise<number | null>((resolve, reject) => child.once('close', resolve).once('error', reject))
  const seconds = (performance.now() - startedMs) / 1_000
  const rss = /\nrss (\d+)\n/.exec(said)?.[1]
  if (code !== 0 || rss === undefined) throw new Error(`${args.join(' ')}: exit ${code}\n${said}`)
  return { seconds, mib: (Number(rss) * BYTES_A_KIB) / MIB }
}
