import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Caller } from '../../src/ledger/ledger.ts'
import { MemoryBudget, type ShareName } from '../../src/resources/memory-budget.ts'
import { askAll, auditOf } from '../support/audited.ts'
import { ownCaller, type TestLedger, testLedger } from '../support/test-ledger.ts'

const small = suite('a ledger with little memory')

const KIB = 1024
/** A share of one percent holds a handful of entries. */
const LITTLE = 200 * KIB
const TENANTS = 6
const RUNS = 4

const SHARES_OF_CACHES: readonly ShareName[] = ['audit-index', 'logs', 'leases', 'access']

const callerOf = (tenant: number): Caller => ownCaller(`tenant-${tenant}`, { actor: 'tester' })

/** Calls, reservations and handoffs of many runs, begun in all of them before they end in any. */
async function fill({ ledger }: TestLedger): Promise<void> {
  const calls = new Map<string, { callId: string; reservationId: string }>()
  const each = async (work: (caller: Caller, run: string) => Promise<void>): Promise<void> => {
    for (let tenant = 0; tenant < TENANTS; tenant += 1) {
      for (let run = 0; run < RUNS; run += 1) await work(callerOf(tenant), `run-${run}`)
    }
  }
  await each(async (caller, run) => {
    await ledger.execute(caller, run, { kind: 'start', body: { id: run, name: 'try', budget: { tokens: 9_000 } } }, {})
    const claim = { tool: `tool-${run}`, args: {}, agent: `agent-${run}` }
    const claimed = await ledger.execute(caller, run, { kind: 'claim', body: claim }, {})
    await ledger.execute(caller, run, { kind: 'claim', body: { ...claim, args: { left: 'open' } } }, {})
    const held = await ledger.execute(caller, run, { kind: 'reserve', body: { agent: 'a', tokens: 7 } }, {})
    if (!claimed.ok || !held.ok) throw new Error('refused')
    calls.set(`${caller.tenant} ${run}`, {
      callId: String(claimed.body.callId),
      reservationId: String(held.body.reservationId),
    })
  })
  await each(async (caller, run) => {
    const { callId = '', reservationId = '' } = calls.get(`${caller.tenant} ${run}`) ?? {}
    await ledger.execute(caller, run, { kind: 'settle', callId, body: { fence: 1, result: 'done' } }, {})
    const usage = { usage: { tokens: 5, model: 'm' } }
    await ledger.execute(caller, run, { kind: 'settle-reservation', reservationId, body: usage }, {})
  })
}

/** What index and logs say of one tenant; reads and checkpoints, which are on record as well, are left out. */
async function answersOf({ ledger }: TestLedger, caller: Caller) {
  const { tenant } = caller
  const events = (await askAll(ledger, 'events', { caller })).filter(({ run }) => run !== undefined)
  const outcomes = events.filter(({ type }) => type === 'ToolCallSucceeded')
  return {
    events: events.length,
    leaves: events.filter(({ event }) => ledger.logs?.inclusion(tenant, { eventId: String(event) }).ok).length,
    tools: outcomes.map(({ tool, agent }) => `${tool} ${agent}`).sort(),
    tokens: (await askAll(ledger, 'spend', { caller, by: 'run' })).map(({ tokens }) => tokens),
    openCalls: (await askAll(ledger, 'open-calls', { caller })).length,
    openReservations: (await askAll(ledger, 'open-reservations', { caller })).length,
    stopped: ledger.logs?.state(tenant).stopped,
  }
}

const runs = Array.from({ length: RUNS }, (_, run) => run)
const EXPECTED = {
  events: 6 * RUNS,
  leaves: 6 * RUNS,
  tools: runs.map((run) => `tool-run-${run} agent-run-${run}`),
  tokens: runs.map(() => 5),
  openCalls: RUNS,
  openReservations: 0,
  stopped: undefined,
}

const over = (memory: MemoryBudget): readonly string[] =>
  memory
    .snapshot()
    .filter(({ name, usedBytes, limitBytes }) => SHARES_OF_CACHES.includes(name) && usedBytes > limitBytes)
    .map(({ name, usedBytes, limitBytes }) => `${name}: ${usedBytes} of ${limitBytes}`)

small(
  'caches of index, logs, leases and access hold their bytes, and what falls out of them changes no answer (F76)',
  async () => {
    const [memory, writers] = [new MemoryBudget(LITTLE), new MemoryBudget(LITTLE)]
    await using writing = await testLedger({ memory: writers })
    await fill(writing)
    // Index and logs meet the whole history at once: what falls out of a cache is not in their files yet.
    const { store } = writing
    const keys = writing.keys.current()
    await using little = await testLedger({ store, keys, audit: true, merkleLogs: true, memory })
    await little.ledger.logs?.publish()
    for (let tenant = 0; tenant < TENANTS; tenant += 1) {
      assert.equal(await answersOf(little, callerOf(tenant)), EXPECTED)
    }
    assert.equal([...over(memory), ...over(writers)], [])
    const used = memory.snapshot().filter(({ name }) => name === 'audit-index' || name === 'logs' || name === 'access')
    used.push(...writers.snapshot().filter(({ name }) => name === 'leases'))
    assert.ok(
      used.length === 4 && used.every(({ usedBytes }) => usedBytes > 0),
      `each of them was filled: ${JSON.stringify(used)}`,
    )
  },
)

small(
  'reads of many tenants are on record one after the other though the place of each in its stream is forgotten (F76)',
  async () => {
    const memory = new MemoryBudget(LITTLE)
    await using test = await testLedger({ audit: true, memory })
    for (const round of [1, 2, 3]) {
      for (let tenant = 0; tenant < 2 * TENANTS; tenant += 1) {
        await auditOf(test.ledger).record(callerOf(tenant), { query: `round-${round}` })
      }
    }
    for (let tenant = 0; tenant < 2 * TENANTS; tenant += 1) {
      const revisions: number[] = []
      for await (const page of test.ledger.tenantEvents(callerOf(tenant), {})) {
        revisions.push(
          ...page.filter(({ header }) => header.type === 'AccessRecorded').map(({ header }) => header.revision),
        )
      }
      assert.equal(revisions, [0, 1, 2])
    }
    assert.equal(over(memory), [])
  },
)

small(
  'more reads than memory has room for are refused before they wait, and none is answered without its record (F76)',
  async () => {
    const memory = new MemoryBudget(LITTLE)
    await using test = await testLedger({ audit: true, memory })
    const filters = { text: 'x'.repeat(1_000) }
    const reads = Array.from({ length: 100 }, (_, at) =>
      auditOf(test.ledger).record(callerOf(at % 2), { query: `read-${at}`, filters }),
    )
    const settled = await Promise.allSettled(reads)
    const refused = settled.filter(({ status }) => status === 'rejected')
    assert.ok(refused.length > 0 && refused.length < 100, `${refused.length}`)
    assert.ok(refused.every((each) => (each as PromiseRejectedResult).reason.code === 'overloaded'))
    assert.is(memory.account('access').usedBytes, 0)
  },
)

small.run()
