import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ApiClient } from '../support/api-client.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { newPostgresUrl } from '../support/postgres-store.ts'
import { randomCuts } from '../support/random-cuts.ts'
import { lostOrDoubled, recordedMarks } from '../support/recorded-marks.ts'
import { type Ledgers, startLedgers } from '../support/shared-store.ts'
import { eventually } from '../support/within.ts'
import { Workload } from '../support/workload.ts'

const test = suite('two ledgers on one PostgreSQL that dies, and whose connections are cut')

/** `COUNTERSIGN_TEST_KILLS=50` kills the server so often, and gives as many rounds of cuts; by default few, for every day. */
const KILLS = Number(process.env.COUNTERSIGN_TEST_KILLS ?? 4)
/** Acknowledged before a kill, at least; the number varies, so that kills fall into every part of a write. */
const LOAD_MIN = 10
const CUTS_A_ROUND = 20
/** New runs after so many rounds: each check reads the runs in use from their beginning. */
const ROUNDS_PER_WORKLOAD = 10

interface Loaded {
  readonly ledgers: Ledgers
  readonly clients: readonly ApiClient[]
  readonly workloads: Workload[]
}

async function loaded(url: string): Promise<Loaded> {
  const ledgers = await startLedgers({ url, processes: 2 })
  const clients = await Promise.all(ledgers.servers.map((server) => server.client()))
  return { ledgers, clients, workloads: [] }
}

/** Load through both ledgers while something happens; then what was open is requested again, and the record is held against what was acknowledged. */
async function round(
  { clients, workloads, ledgers }: Loaded,
  index: number,
  happens: (workload: Workload) => Promise<void>,
): Promise<void> {
  const [first] = clients
  if (first === undefined) throw new Error('two ledgers were asked for')
  if (index % ROUNDS_PER_WORKLOAD === 0) {
    workloads.push(new Workload({ name: `w${workloads.length}`, clients: 6, restMs: 20 }))
    await workloads.at(-1)?.startRuns(first)
  }
  const workload = workloads.at(-1) as Workload
  const stop = new AbortController()
  const driven = clients.map((client) => workload.drive(client, stop.signal))
  await happens(workload)
  stop.abort()
  await Promise.all(driven)
  for (const client of clients) {
    const isReady = async (): Promise<true | undefined> =>
      (await client.get('/readyz')).status === 200 ? true : undefined
    await eventually(isReady, 'a ledger that is ready again').catch(async (error: unknown) => {
      const said = ledgers.servers.map((server) => server.output.slice(-3_000)).join('\n---\n')
      throw new Error(`${error}: ${(await client.get('/readyz')).text}\n${said}`)
    })
  }
  await workload.settle(clients[index % clients.length] ?? first)
  assert.equal(workload.unexpected, [])
  assert.equal(lostOrDoubled(workload, await recordedMarks(first, workload.runs)), [])
  for (const server of ledgers.servers) assert.ok(server.pid > 0)
}

async function lastChecks({ ledgers, clients, workloads }: Loaded): Promise<number> {
  let acknowledged = 0
  for (const workload of workloads) {
    const recorded = await recordedMarks(clients[0] as ApiClient, workload.runs)
    assert.equal(lostOrDoubled(workload, recorded), [])
    assert.is(recorded.digests.size, workload.acknowledged.size, 'nothing is recorded that nobody asked for')
    acknowledged += workload.acknowledged.size
  }
  const { code, stdout, stderr } = await ledgers.command(['verify'])
  assert.is(code, 0, stdout + stderr)
  for (const server of ledgers.servers) assert.equal(await server.stop(), { code: 0, signal: null })
  return acknowledged
}

test('the server is killed under load, by SIGKILL and by an immediate stop: nothing acknowledged is lost, nothing is doubled (F131)', async () => {
  const server = await startPostgres()
  const state = await loaded(await newPostgresUrl(server))
  await using _ = state.ledgers
  for (let index = 0; index < KILLS; index += 1) {
    await round(state, index, async ({ acknowledged }) => {
      const load = acknowledged.size + LOAD_MIN + ((index * 37) % 100)
      await eventually(() => (acknowledged.size >= load ? true : undefined), 'the load')
      await server.kill(index % 2 === 0 ? 'SIGKILL' : 'SIGQUIT')
      await server.start()
    })
  }
  const acknowledged = await lastChecks(state)
  assert.ok(acknowledged >= KILLS * LOAD_MIN, `the load was too light: ${acknowledged}`)
  console.log(`${KILLS} kills of the server: ${acknowledged} acknowledged, none lost, none doubled`)
  await server.kill()
})

test('connections are cut at random bytes under load: nothing acknowledged is lost, nothing is doubled (F132)', async () => {
  const server = await startPostgres()
  const direct = await newPostgresUrl(server)
  await using proxy = await randomCuts(server.url)
  const through = new URL(direct)
  through.port = String(proxy.port)
  const state = await loaded(through.href)
  await using _ = state.ledgers
  for (let index = 0; index < KILLS; index += 1) {
    await round(state, index, async () => {
      const cuts = proxy.cuts() + CUTS_A_ROUND
      proxy.cutting = true
      await eventually(() => (proxy.cuts() >= cuts ? true : undefined), 'cuts')
      proxy.cutting = false
    })
  }
  const acknowledged = await lastChecks(state)
  assert.ok(proxy.cuts() >= KILLS * CUTS_A_ROUND, `too few cuts: ${proxy.cuts()}`)
  console.log(`${proxy.cuts()} cuts: ${acknowledged} acknowledged, none lost, none doubled`)
  await server.kill()
})

test.run()
