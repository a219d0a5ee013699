import { existsSync, readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import type { BatchItem, Caller, Ledger } from '../../src/ledger/ledger.ts'
import { readSettings } from '../../src/settings/config.ts'
import { BIN, cleanEnv, runCommand } from '../support/command-line.ts'
import { startServer } from '../support/server-process.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'

/** Work is counted in bytes that a process reads, from files and whatever else: the system counts them, and no clock has a say. */
const COUNTED = existsSync('/proc/self/io')
const test = suite('what questions cost in a store of ten times as many events')

/** Each has more events than the last 4,096, which every reader looks at. */
const [SMALL, LARGE] = [5_000, 50_000]
const STEPS = 24
const CALLER: Caller = { tenant: 'acme', actor: 'tester' }
/** Some levels more of b-trees, and pages that happen to be fuller; reading a hundredth of the larger store takes more. */
const SLACK_BYTES = 384 * 1024
const METER = `import { readFileSync } from 'node:fs'; process.on('exit', () => process.stderr.write('read ' + /rchar: (\\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))[1]))`

async function filled(data: string, events: number): Promise<string> {
  await using opened = await openLedger(
    readSettings({ data, 'checkpoint-seconds': '0', 'scrub-days': '0' }, {}),
    silentLog,
  )
  const { ledger } = opened
  const runs = Math.round(events / (STEPS + 1))
  for (let from = 0; from < runs; from += 10) {
    const ids = Array.from({ length: Math.min(10, runs - from) }, (_, n) => `r${from + n}`)
    await Promise.all(ids.map((id) => run(ledger, id)))
  }
  await ledger.logs?.publish()
  await ledger.listRuns(CALLER, { limit: 1 })
  const page = await ledger.audit?.ask(CALLER, { name: 'events', filter: { run: 'r0' } }, { limit: 1 })
  if (page?.ok !== true) throw new Error('the index does not answer')
  return String(page.items[0]?.event)
}

async function run(ledger: Ledger, runId: string): Promise<void> {
  const start = { kind: 'start', body: { id: runId, name: 'growing' } } as const
  const steps = Array.from(
    { length: STEPS },
    (_, step): BatchItem => ({
      runId,
      command: { kind: 'envelope', body: { agent: 'a', payload: { step, note: 'x'.repeat(200) } } },
    }),
  )
  for (const outcome of await ledger.executeBatch(CALLER, [{ runId, command: start }, ...steps], {}))
    if (!outcome.ok) throw new Error(outcome.refusal.detail)
}

interface Site {
  readonly data: string
  readonly event: string
}
const folders: TempFolder[] = []
const sites: Site[] = []

test.before(async () => {
  if (!COUNTED) return
  for (const events of [SMALL, LARGE]) {
    const folder = tempFolder()
    folders.push(folder)
    const data = folder.file('data')
    sites.push({ data, event: await filled(data, events) })
  }
})
test.after(() => {
  for (const folder of folders) folder[Symbol.dispose]()
})

async function bytesRead({ data }: Site, args: readonly string[]): Promise<number> {
  const meter = ['--import', `data:text/javascript,${encodeURIComponent(METER)}`]
  const ended = await runCommand([process.execPath, ...meter, BIN, ...args, '--data', data], { env: cleanEnv() })
  if (ended.code !== 0) throw new Error(`${args.join(' ')}: ${ended.stderr}`)
  return Number(/read (\d+)$/.exec(ended.stderr)?.[1])
}

const QUESTIONS: Readonly<Record<string, (site: Site) => readonly string[]>> = {
  'runs list --limit 20': () => ['runs', 'list', '--limit', '20', '--tenant', 'acme'],
  'tail --lines 10': () => ['tail', '--lines', '10', '--tenant', 'acme'],
  'proof EVENT': ({ event }) => ['proof', event, '--tenant', 'acme'],
  'audit open-calls': () => ['audit', 'open-calls', '--tenant', 'acme'],
  'audit events --run r0': () => ['audit', 'events', '--run', 'r0', '--tenant', 'acme'],
}

for (const [name, argsOf] of Object.entries(QUESTIONS)) {
  test(`${name}, without a server, reads as much as in the small store (F163)`, async () => {
    if (!COUNTED) return console.log('skipped: this system does not count what a process reads')
    const [small, large] = [
      await bytesRead(sites[0] as Site, argsOf(sites[0] as Site)),
      await bytesRead(sites[1] as Site, argsOf(sites[1] as Site)),
    ]
    assert.ok(large <= small + SLACK_BYTES, `${small} bytes, then ${large}`)
  })
}

test('a server reads as much for a page of a run and for the list of runs as in the small store (F163)', async () => {
  if (!COUNTED) return console.log('skipped: this system does not count what a process reads')
  const read: number[][] = []
  for (const { data } of sites) {
    await using server = await startServer({ data, args: ['--checkpoint-seconds', '0', '--scrub-days', '0'] })
    const client = await server.client()
    const soFar = (): number => Number(/rchar: (\d+)/.exec(readFileSync(`/proc/${server.pid}/io`, 'utf8'))?.[1])
    const paths = ['/v1/runs/r0', '/v1/runs/r0/envelopes?limit=20', '/v1/runs?limit=20']
    // Once before, so that files are open and looked through that are so but once.
    for (const path of paths) await client.get(path)
    const bytes: number[] = []
    for (const path of paths) {
      const before = soFar()
      await client.get(path)
      bytes.push(soFar() - before)
    }
    read.push(bytes)
  }
  const [small = [], large = []] = read
  for (const [at, bytes] of large.entries())
    assert.ok(bytes <= (small[at] ?? 0) + SLACK_BYTES, `${small} bytes, then ${large}`)
})

test.run()
