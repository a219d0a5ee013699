import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Caller, Command } from '../../src/ledger/ledger.ts'
import { drive, ok, refusedWith } from '../support/run-driver.ts'
import { alice, ownCaller, testLedger } from '../support/test-ledger.ts'

const test = suite('tokens of one agent, in process')

const writer: Caller = ownCaller('acme', { actor: 'alice', agent: 'writer' })
const reader: Caller = ownCaller('acme', { actor: 'alice', agent: 'reader' })

async function withWork() {
  const inner = await testLedger({ audit: true })
  const run = drive(inner, 'r')
  await run.start()
  const call = await run.claimed('t', { agent: 'writer', key: 'k', onUnknown: 'retry', leaseMs: 100 })
  const nobodys = await run.claimed('u', { key: 'u' })
  const done = await run.called('v', { agent: 'writer', key: 'v' })
  const held = ok(await run.do({ kind: 'reserve', body: { agent: 'writer', tokens: 5 } }))
  const branches = [{ name: 'x', agent: 'writer' }]
  const fork = ok(await run.do({ kind: 'fork', body: { agent: 'writer', branches, join: 'vote' } }))
  const ids = { call, nobodys, done, reservation: String(held.reservationId), fork: String(fork.forkId) }
  return { inner, ids, as: (caller: Caller, command: Command) => inner.ledger.execute(caller, 'r', command, {}) }
}

const unknown = { fence: 1, unknown: { reason: 'x' } }

test('(A58) another agent’s call, reservation and fork are not to be settled, prolonged, taken over or undone', async () => {
  const { inner, ids, as } = await withWork()
  await using _ = inner
  const usage = { tokens: 1 }
  const foreign: readonly Command[] = [
    { kind: 'settle', callId: ids.call, body: unknown },
    { kind: 'renew', callId: ids.call, body: { fence: 1 } },
    { kind: 'resolve', callId: ids.call, body: { outcome: 'executed', evidence: 1 } },
    { kind: 'claim', body: { tool: 't', args: {}, key: 'k' } },
    { kind: 'claim', body: { tool: 'v', args: {}, phase: 'compensation', key: ids.done } },
    { kind: 'usage', body: { agent: 'reader', usage, callId: ids.call } },
    { kind: 'settle', callId: ids.nobodys, body: unknown },
    { kind: 'settle-reservation', reservationId: ids.reservation, body: { usage } },
    { kind: 'release', reservationId: ids.reservation, body: {} },
    { kind: 'branch', forkId: ids.fork, body: { branch: 'x', output: {} } },
    { kind: 'join', forkId: ids.fork, body: {} },
    { kind: 'start', body: { id: 'r', name: 'run' } },
  ]
  const before = await inner.ledger.run(alice, 'r')
  for (const command of foreign) refusedWith(await as(reader, command), 'agent-mismatch')
  for (const kind of ['complete', 'fail', 'rollback', 'compensate', 'manifest'] as const) {
    const body = { error: { message: 'x' }, reason: 'x', agent: 'writer' }
    refusedWith(await as(writer, { kind, body } as unknown as Command), 'agent-mismatch')
  }
  const after = await inner.ledger.run(alice, 'r')
  assert.equal(after, before)

  ok(await as(writer, { kind: 'renew', callId: ids.call, body: { fence: 1 } }))
  ok(await as(writer, { kind: 'settle', callId: ids.call, body: { fence: 1, result: 1 } }))
  ok(await as(writer, { kind: 'release', reservationId: ids.reservation, body: {} }))
  ok(await as(writer, { kind: 'branch', forkId: ids.fork, body: { branch: 'x', output: {} } }))
  ok(await as(writer, { kind: 'join', forkId: ids.fork, body: {} }))
})

test('(A58) what tells of a tenant’s whole history is not for a token of one run or agent, in process either', async () => {
  const { inner } = await withWork()
  await using _ = inner
  const { ledger } = inner
  for (const caller of [writer, { ...alice, run: 'other' }, { ...writer, run: 'r' }]) {
    assert.throws(() => ledger.tenantEvents(caller, {}), /the token is bound/)
    for await (const page of ledger.tail(caller, {}, new AbortController().signal)) assert.unreachable(String(page))
    const asked = await ledger.audit?.ask(caller, { name: 'events', filter: {} }, { limit: 5 })
    assert.is(asked?.ok, false)
  }
  const keys = await ledger.discloseRunKeys(writer, 'r')
  assert.is(!keys.ok && keys.refusal.code, 'agent-mismatch')
})

test('a token that is bound to a run starts no run for it: neither as the parent’s nor as the child’s, and nothing is recorded (RUN-92, A208)', async () => {
  const { inner, ids } = await withWork()
  await using _ = inner
  const claim = ok(
    await inner.ledger.execute(alice, 'r', { kind: 'claim', body: { tool: 'cs.run:c', args: {}, key: 'c' } }, {}),
  )
  const callId = String(claim.callId)
  const child = (body: object): Command => ({ kind: 'start', body: { name: 'c', ...body } }) as Command
  const childOf = { run: 'r', callId, fence: 1 }
  const before = await inner.ledger.run(alice, 'r')
  const bound: readonly Caller[] = [
    { ...alice, run: 'r' },
    { ...alice, run: callId },
    { ...alice, run: 'c-1' },
    { ...alice, run: 'other' },
  ]
  const starts = [
    child({ childOf }),
    child({ childOf, id: 'c-1' }),
    child({ branchOf: { run: 'r', atStep: 0 }, id: 'c-1' }),
  ]
  for (const caller of bound) {
    for (const start of starts) {
      refusedWith(await inner.ledger.execute(caller, '', start, {}), 'run-mismatch')
      const [outcome] = await inner.ledger.executeBatch(caller, [{ runId: '', command: start }], {})
      assert.is(outcome?.ok, false)
    }
  }
  assert.equal(await inner.ledger.run(alice, 'r'), before)
  for (const id of [callId, 'c-1']) assert.is((await inner.ledger.run(alice, id)).ok, false)
  // An agent's token starts what its own call does, and nobody else's.
  const foreign = child({ childOf: { run: 'r', callId: ids.call, fence: 1 } })
  refusedWith(await inner.ledger.execute(reader, '', foreign, {}), 'agent-mismatch')
  ok(await inner.ledger.execute(writer, '', foreign, {}))
  ok(await inner.ledger.execute(alice, '', child({ childOf }), {}))
})

test.run()
