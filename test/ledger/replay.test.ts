import { randomBytes } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../schemas/json.ts'
import { runStream } from '../../schemas/names.ts'
import { resolvePolicy } from '../../schemas/resolve-policy.ts'
import { createRunKeys, currentKey } from '../../src/signing/key-ring.ts'
import { sealEvents } from '../../src/signing/seal.ts'
import { digestOf, id } from '../support/decider.ts'
import { drive, ok, replayed } from '../support/run-driver.ts'
import { alice, type TestLedger, testLedger } from '../support/test-ledger.ts'

const replaying = suite('replay')

const started = {
  v: 1,
  name: 'n',
  tags: [],
  policy: resolvePolicy({ protect: [] }) as unknown as Json,
  requestDigest: digestOf({ name: 'n' }),
}
const handoff = (payload: JsonObject, context: string) => ({
  v: 1,
  step: 1,
  agent: 'a',
  mode: 'replace',
  payload,
  parent: digestOf('parent'),
  context,
  confidence: 1,
})
const snapshot = (context: string, v = 1) => ({
  v,
  step: 1,
  context,
  budget: { tokens: 0, cost: '0', reservedTokens: 0, reservedCost: '0' },
  openCalls: [],
  openReservations: [],
})

/** Writes a run that this ledger sealed, and that no decision of it made. */
async function write(test: TestLedger, drafts: readonly { type: string; data: Json }[]): Promise<void> {
  const { ring } = test.keys.current()
  const { kid } = currentKey(ring)
  const key = createRunKeys(ring).keyFor(kid, alice.tenant, runStream(alice.tenant, 'r'))
  if (key === undefined) throw new Error('the ring has its own key')
  let ids = 0
  const events = sealEvents(drafts, {
    stream: runStream(alice.tenant, 'r'),
    tenant: alice.tenant,
    actor: 'alice',
    revision: 0,
    clock: new Date(test.clock.nowMs).toISOString(),
    kid,
    key,
    newId: () => {
      ids += 1
      return id(ids)
    },
    newSalt: () => new Uint8Array(randomBytes(16)),
  })
  await test.store.append({
    stream: runStream(alice.tenant, 'r'),
    expectedRevision: -1,
    records: events.map((event) => event.record),
  })
}

replaying('a snapshot is compared with the context as it folds now, not with what the events say of it', async () => {
  await using test = await testLedger()
  const said = digestOf({ other: 1 })
  await write(test, [
    { type: 'RunStarted', data: started },
    { type: 'EnvelopeAccepted', data: handoff({ x: 1 }, said) },
    { type: 'SnapshotTaken', data: snapshot(said) },
  ])
  const verdict = await replayed(test.ledger, 'r')
  assert.equal([verdict.verdict, verdict.snapshots], ['TAMPERED', { matched: 0, mismatched: 1, notCompared: 0 }])
})

replaying("a handoff's snapshot is compared with the run that it leads to, each member of it", async () => {
  const context = digestOf({ x: 1 })
  const whole = { ...snapshot(context, 2), budget: { tokens: 5, cost: '0', reservedTokens: 0, reservedCost: '0' } }
  const spent = { ...whole.budget, tokens: 6 }
  const open = { callId: id(9), tool: 't', status: 'claimed', fence: 1 }
  const others: readonly object[] = [{ step: 2 }, { context: digestOf({}) }, { budget: spent }, { openCalls: [open] }]
  for (const changed of [{}, ...others]) {
    await using test = await testLedger()
    const data = { ...handoff({ x: 1 }, context), v: 2, tokens: 5, snapshot: { ...whole, ...changed } } as Json
    await write(test, [
      { type: 'RunStarted', data: started },
      { type: 'EnvelopeAccepted', data },
    ])
    const { verdict, snapshots } = await replayed(test.ledger, 'r')
    const expected = Object.keys(changed).length === 0 ? ['VERIFIED', 1, 0] : ['TAMPERED', 0, 1]
    const { matched, mismatched } = snapshots as { matched: number; mismatched: number }
    assert.equal([verdict, matched, mismatched], expected, JSON.stringify(changed))
  }
})

replaying(
  'a snapshot of a version that this build cannot make is not compared, and no hindrance (STR-10)',
  async () => {
    await using test = await testLedger()
    const said = digestOf({ x: 1 })
    await write(test, [
      { type: 'RunStarted', data: started },
      { type: 'EnvelopeAccepted', data: handoff({ x: 1 }, said) },
      { type: 'SnapshotTaken', data: snapshot(said, 3) },
    ])
    ok(await drive(test, 'r').hand('a', { x: 2 }))
    const verdict = await replayed(test.ledger, 'r')
    assert.equal([verdict.verdict, verdict.snapshots], ['VERIFIED', { matched: 1, mismatched: 0, notCompared: 1 }])
  },
)

replaying.run()
