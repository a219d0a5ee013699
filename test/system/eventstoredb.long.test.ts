import { setTimeout as sleep } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ApiClient } from '../support/api-client.ts'
import type { AppendFault } from '../support/eventstoredb/faults.ts'
import { seededRandom, testSeed } from '../support/random.ts'
import { lostOrDoubled, recordedMarks } from '../support/recorded-marks.ts'
import { rounds } from '../support/rounds.ts'
import { type SharedStore, sharedStore } from '../support/shared-store.ts'
import { eventually } from '../support/within.ts'
import { Workload } from '../support/workload.ts'

const test = suite('two ledger processes on one EventStoreDB, under load and faults')

const CLIENTS = 16
const REQUESTS = rounds(800, 800, 2_000)
const LOAD_MAX_MS = 8 * 60_000

const random = seededRandom(testSeed(1))

/** About one append in 50 meets a fault; a lost answer costs a whole deadline, so it is the rarest. */
function randomFault(): AppendFault | undefined {
  const draw = random()
  if (draw < 0.008) return 'write-and-cut'
  if (draw < 0.015) return 'cut'
  if (draw < 0.019) return 'unavailable'
  return draw < 0.0195 ? 'lose-answer' : undefined
}

async function clientsOf({ servers }: SharedStore): Promise<readonly ApiClient[]> {
  return Promise.all(servers.map((server) => server.client()))
}

/** Envelopes and claims that were acknowledged; settles and reservations come on top. */
const writesOf = ({ acknowledged }: Workload): number =>
  [...acknowledged.keys()].filter((key) => /-(envelope|claim)$/.test(key)).length

/** Half of the clients on each process, until so many envelopes and claims are acknowledged. */
async function load(workload: Workload, clients: readonly ApiClient[], requests: number): Promise<void> {
  const stop = new AbortController()
  const driven = clients.map((client) => workload.drive(client, stop.signal))
  const enough = (): true | undefined => (writesOf(workload) >= requests ? true : undefined)
  await eventually(enough, `${requests} acknowledged envelopes and claims`, LOAD_MAX_MS).finally(() => stop.abort())
  await Promise.all(driven)
}

/** Everything acknowledged is there, under its digest, once; nothing that nobody requested; the chain is whole. */
async function checkAll(shared: SharedStore, workload: Workload, client: ApiClient): Promise<void> {
  assert.equal(workload.unexpected, [])
  const recorded = await recordedMarks(client, workload.runs)
  assert.equal(lostOrDoubled(workload, recorded), [])
  assert.is(recorded.digests.size, workload.acknowledged.size)
  const verified = await shared.command(['verify'])
  assert.is(verified.code, 0, verified.stdout + verified.stderr)
  // Nobody starts a process anew here: one that answers has never ended.
  for (const server of shared.servers) assert.is((await (await server.client()).get('/readyz')).status, 200)
}

test('16 clients on two processes write 2,000 envelopes and claims to one run through cuts and lost answers: none acknowledged is missing, none is there twice, the chain is whole (F21)', async () => {
  await using shared = await sharedStore(2)
  const [first, second] = await clientsOf(shared)
  if (first === undefined || second === undefined) throw new Error('two servers were asked for')
  const workload = new Workload({ name: 'chaos', clients: CLIENTS / 2, runs: 1, restMs: 200 })
  await workload.startRuns(first)
  let faults = 0
  shared.node.faults.onAppend = () => {
    const fault = randomFault()
    if (fault !== undefined) faults += 1
    return fault
  }
  await load(workload, [first, second], REQUESTS)
  shared.node.faults.clear()
  assert.ok(faults >= REQUESTS / 100, `${faults} faults`)
  await workload.settle(second)
  await checkAll(shared, workload, first)
})

test('a store that is away for 10 s under load: 503s, no crash, nothing acknowledged lost, served again within 2 s of its return (F21)', async () => {
  await using shared = await sharedStore(2)
  const [first, second] = await clientsOf(shared)
  if (first === undefined || second === undefined) throw new Error('two servers were asked for')
  const workload = new Workload({ name: 'away', clients: CLIENTS / 2, runs: 4, restMs: 200 })
  await workload.startRuns(first)
  const stop = new AbortController()
  const driven = [first, second].map((client) => workload.drive(client, stop.signal))
  await sleep(2_000)
  await shared.node.stop()
  await sleep(10_000)
  const refusedWhileAway = workload.statuses.get(503) ?? 0
  const before = workload.acknowledged.size
  const backMs = performance.now()
  await shared.node.start()
  await eventually(() => workload.acknowledged.size > before || undefined, 'the first acknowledgement')
  const recoveredMs = performance.now() - backMs
  await sleep(1_000)
  stop.abort()
  await Promise.all(driven)
  assert.ok(refusedWhileAway > 0)
  assert.ok(recoveredMs < 2_000, `served again after ${recoveredMs} ms`)
  await workload.settle(second)
  await checkAll(shared, workload, first)
})

test.run()
