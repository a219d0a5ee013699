/**
 * @module `npm run bench -- --scale 10000,100000,1000000 [--postgres]`: growth of the cost of queries with the size of the store. For each size, one store is
 * made and queried: each query of the command line in a separate process, as by an auditor without a server, then everything of a server. Reports seconds from
 * start to end, CPU seconds of all threads, which are more meaningful on a busy machine, and memory.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BenchOptions } from './options.ts'
import { putIntoPostgres } from './scale-postgres.ts'
import { servedRows } from './scale-served.ts'
import { type ScaleStore, scaleStore } from './scale-store.ts'
import { makeTempFolder } from './temp-folder.ts'

const BIN = fileURLToPath(new URL('../programs/countersign.js', import.meta.url))
const BYTES_A_KIB = 1024
const MIB = 1024 * 1024
/** Prints the resource usage of the process when it ends. */
const METER = `process.on('exit', () => { const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  process.stderr.write(\`\\nrss \${maxRSS} cpu \${userCPUTime + systemCPUTime}\\n\`) })`

/** Bounds at a million events. */
const BOUNDS: Readonly<Record<string, string>> = {
  'made by the ledger': '5,000 events/s',
  '`runs list --limit 20`': '2 s, 300 MiB (0.5 s)',
  '`tail --lines 10`': '2 s, 300 MiB (0.5 s)',
  '`proof EVENT`': '2 s, 300 MiB (0.5 s)',
  '`audit open-calls`': '2 s, 300 MiB (0.5 s)',
  'server start': '2 s (0.5 s)',
  'bundle of one run of 25 events': '300 kB (100 kB)',
  'memory under all of this (RSS)': '300 MiB',
}
const PAGE_BOUND = '0.50 s'

interface Size {
  readonly events: number
  readonly answers: ReadonlyMap<string, string>
}

/** The growth table in Markdown. `say` is called with the progress. If `stores` is given, stores are kept below it and reused. */
export async function scaleTable(
  { scale, folder, stores, postgres }: Pick<BenchOptions, 'scale' | 'folder' | 'stores' | 'postgres'>,
  say: (text: string) => void,
): Promise<string> {
  const found: Size[] = []
  for (const events of scale) {
    using temporary = stores === '' ? makeTempFolder(folder) : undefined
    const data = temporary?.at('data') ?? join(stores, String(events))
    const told = (text: string): void => say(`${events} events: ${text}`)
    found.push(postgres ? await measuredInPostgres(data, events, told) : await measured(data, events, told))
  }
  const names = [...(found[0]?.answers.keys() ?? [])]
  const bound = (name: string): string => BOUNDS[name] ?? (name.startsWith('page: ') ? PAGE_BOUND : '')
  const rows = names.map((name) => [name, ...found.map(({ answers }) => answers.get(name) ?? ''), bound(name)])
  const head = ['question', ...found.map(({ events }) => `${events} events`), 'floor (aim) at 1,000,000']
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [head, head.map(() => '---'), ...rows].map(line).join('\n')
}

async function measured(data: string, wanted: number, say: (text: string) => void): Promise<Size> {
  const store = await scaleStore(data, wanted)
  const { answers, add } = collected(say)
  for (const [question, answer] of makingOf(store)) add(question, answer)
  const asked = [...questions(store.eventId), ['`tail --lines 10 --trust-nothing`', WHOLE_TAIL] as const]
  for (const [name, args] of asked) add(name, await ask([...args, '--data', data]))
  for (const { question, answer } of await servedRows({ data, exports: true }, say)) answers.set(question, answer)
  return { events: store.events, answers }
}

const WHOLE_TAIL = ['tail', '--lines', '10', '--trust-nothing']

/** Leaves out queries that read the whole store: their time is proportional to its size. */
async function measuredInPostgres(data: string, wanted: number, say: (text: string) => void): Promise<Size> {
  const { events, eventId } = await scaleStore(data, wanted)
  const { answers, add } = collected(say)
  await using place = await putIntoPostgres(data)
  add('put into PostgreSQL', `${Math.round(events / place.fillSeconds)} events/s`)
  const where = ['--data', place.data, '--store', place.url]
  for (const [name, args] of questions(eventId)) add(name, await ask([...args, ...where]))
  const flags = ['--store', place.url]
  for (const { question, answer } of await servedRows({ data: place.data, flags }, say)) answers.set(question, answer)
  return { events, answers }
}

function collected(say: (text: string) => void) {
  const answers = new Map<string, string>()
  const add = (question: string, answer: string): void => {
    answers.set(question, answer)
    say(`${question}: ${answer}`)
  }
  return { answers, add }
}

function makingOf({ events, fillSeconds, publishSeconds, indexSeconds }: ScaleStore) {
  return [
    ['made by the ledger', `${Math.round(events / fillSeconds)} events/s`],
    ['the rest of the log published', `${publishSeconds.toFixed(2)} s`],
    ["auditors' index made", `${Math.round(events / indexSeconds)} events/s`],
  ] as const
}

function questions(eventId: string): readonly (readonly [name: string, args: readonly string[]])[] {
  return [
    ['`runs list --limit 20`', ['runs', 'list', '--limit', '20']],
    ['`tail --lines 10`', ['tail', '--lines', '10']],
    ['`proof EVENT`', ['proof', eventId]],
    ['`audit open-calls`', ['audit', 'open-calls']],
    ['`audit events --run r0`', ['audit', 'events', '--run', 'r0']],
    ['`replay r0`', ['replay', 'r0']],
  ]
}

async function ask(args: readonly string[]): Promise<string> {
  const startedMs = performance.now()
  const meter = ['--import', `data:text/javascript,${encodeURIComponent(METER)}`]
  const child = spawn(process.execPath, [...meter, BIN, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  const code = await new Promise<number | null>((resolve, reject) => child.once('close', resolve).once('error', reject))
  const seconds = (performance.now() - startedMs) / 1_000
  const [, rss, cpuUs] = /\nrss (\d+) cpu (\d+)\n/.exec(said) ?? []
  if (code !== 0 || rss === undefined) throw new Error(`${args.join(' ')}: exit ${code}\n${said}`)
  const cpuSeconds = Number(cpuUs) / 1_000_000
  return `${seconds.toFixed(2)} s (CPU ${cpuSeconds.toFixed(2)} s), ${Math.round((Number(rss) * BYTES_A_KIB) / MIB)} MiB`
}
