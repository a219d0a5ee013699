/** @module SIGKILL under load, again and again: the one fault that an acknowledged append must survive always. */
import * as assert from 'uvu/assert'
import { countersign } from './command-line.ts'
import { type LedgerProcesses, ledgerProcesses } from './ledger-processes.ts'
import { lostOrDoubled, recordedMarks } from './recorded-marks.ts'
import type { ServerProcess } from './server-process.ts'
import { eventually } from './within.ts'
import { Workload } from './workload.ts'

export interface KillOptions {
  readonly cycles: number
  /** Of a server on a file. */
  readonly args?: readonly string[]
}

export interface KillFigures {
  readonly restartMs: number
  readonly acknowledged: number
  readonly events: number
}

/** New runs after so many kills: each check reads the runs in use from their beginning. */
const CYCLES_PER_WORKLOAD = 10
/** Acknowledged before a kill, at least; the number varies, so that kills fall into every part of a write. */
const LOAD_MIN = 20
/** A restart may take so long (the matrix' row F1) on a machine that has nothing else to do; the quickest one counts. */
const RESTART_MAX_MS = 2_000

export async function killUnderLoad({ cycles, args }: KillOptions): Promise<KillFigures> {
  await using ledger = await ledgerProcesses(1, args)
  const server = ledger.first
  const token = await server.token()
  const workloads: Workload[] = []
  const restartsMs: number[] = []

  for (let cycle = 0; cycle < cycles; cycle += 1) {
    if (cycle % CYCLES_PER_WORKLOAD === 0) workloads.push(new Workload({ name: `w${workloads.length}` }))
    const workload = workloads.at(-1) ?? new Workload({ name: 'none' })
    await loadAndKill(server, { token, workload, load: LOAD_MIN + ((cycle * 37) % 100) })
    restartsMs.push(await server.start())
    await checkAfterKill(server, token, workload)
  }
  return await lastChecks(ledger, { token, workloads, restartsMs })
}

async function loadAndKill(
  server: ServerProcess,
  { token, workload, load }: { token: string; workload: Workload; load: number },
): Promise<void> {
  const client = server.clientOf(token)
  await workload.startRuns(client)
  const stop = new AbortController()
  const before = workload.acknowledged.size
  const driven = workload.drive(client, stop.signal)
  await eventually(() => (workload.acknowledged.size - before >= load ? true : undefined), 'the load')
  await server.kill()
  stop.abort()
  await driven
  await client.close()
}

/** Before the retries: what was acknowledged is there; after them: everything is there once. */
async function checkAfterKill(server: ServerProcess, token: string, workload: Workload): Promise<void> {
  const client = server.clientOf(token)
  assert.equal(lostOrDoubled(workload, await recordedMarks(client, workload.runs)), [])
  await workload.settle(client)
  assert.equal(workload.unexpected, [])
  await client.close()
}

async function lastChecks(
  ledger: LedgerProcesses,
  { token, workloads, restartsMs }: { token: string; workloads: readonly Workload[]; restartsMs: number[] },
): Promise<KillFigures> {
  const server = ledger.first
  const client = server.clientOf(token)
  let events = 0
  let acknowledged = 0
  for (const workload of workloads) {
    const recorded = await recordedMarks(client, workload.runs)
    assert.equal(lostOrDoubled(workload, recorded), [])
    assert.is(recorded.digests.size, workload.acknowledged.size, 'nothing is recorded that nobody asked for')
    for (const run of workload.runs) assert.is(await replayVerdict(client, run), 'VERIFIED', run)
    events += recorded.events
    acknowledged += workload.acknowledged.size
  }
  await ledger.verify()
  assert.equal(await server.stop(), { code: 0, signal: null })
  const restartMs = Math.min(...restartsMs)
  const limitMs = RESTART_MAX_MS * (await slowness())
  assert.ok(restartMs < limitMs, `restart takes ${restartMs} ms, more than ${limitMs}`)
  return { restartMs, acknowledged, events }
}

/** What `countersign version` takes where nobody else uses the machine. */
const VERSION_MS = 100

/** How much slower the machine is at the moment: 1 where it is free. */
async function slowness(): Promise<number> {
  const tookMs: number[] = []
  for (let turn = 0; turn < 3; turn += 1) {
    const startedMs = performance.now()
    await countersign(['version'])
    tookMs.push(performance.now() - startedMs)
  }
  return Math.max(VERSION_MS, ...tookMs) / VERSION_MS
}

async function replayVerdict(client: ReturnType<ServerProcess['clientOf']>, run: string): Promise<unknown> {
  let last = '{}'
  for await (const line of client.lines(`/v1/runs/${run}/replay`)) last = line
  return JSON.parse(last).verdict
}
