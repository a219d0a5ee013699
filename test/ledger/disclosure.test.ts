import { createSecretKey } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { runStream } from '../../schemas/names.ts'
import { checkRecord, firstExpectation, nextExpectation } from '../../src/signing/check.ts'
import { sealEvents } from '../../src/signing/seal.ts'
import { type VerifyFault, verdictOf } from '../../src/verify/fault.ts'
import { verifyRecords } from '../../src/verify/verify-records.ts'
import { rotate } from '../support/key-rotation.ts'
import { drive, idempotent, listed, ok, recordsOf, refusedWith } from '../support/run-driver.ts'
import { alice, type TestLedger, testLedger } from '../support/test-ledger.ts'

const test = suite('ledger: disclosure of a run key')

interface Disclosed extends JsonObject {
  readonly stream: string
  readonly keys: readonly { readonly kid: string; readonly key: string }[]
}

async function disclosed({ ledger }: TestLedger, runId: string): Promise<Disclosed> {
  const found = await ledger.discloseRunKeys(alice, runId)
  if (!found.ok) throw new Error(found.refusal.code)
  return found.value as Disclosed
}

const keysOf = ({ keys }: Disclosed) => ({
  ring: { keys },
  runKeys: {
    keyFor: (kid: string) => {
      const found = keys.find((key) => key.kid === kid)
      return found && createSecretKey(Buffer.from(found.key, 'base64url'))
    },
  },
})

test('the keys check every event of the run, over a rotation, and no event of another run', async () => {
  await using home = await testLedger({ rotates: true })
  const run = drive(home, 'r1')
  await run.start()
  await run.hand('writer', { note: 'a' })
  await rotate(home)
  await run.hand('writer', { note: 'b' })
  await run.do({ kind: 'complete', body: {} })
  const file = await disclosed(home, 'r1')
  assert.is(file.keys.length, 2)
  let expected = firstExpectation(runStream(alice.tenant, 'r1'))
  for (const record of await recordsOf(home.store, 'r1')) {
    const checked = checkRecord(record, expected, keysOf(file))
    if (!checked.ok) throw new Error(JSON.stringify(checked.faults))
    expected = nextExpectation(checked)
  }
  const other = drive(home, 'r2')
  await other.start()
  const [record] = await recordsOf(home.store, 'r2')
  const foreign = record && checkRecord(record, firstExpectation(record.stream), keysOf(file))
  assert.is(foreign?.ok, false)
})

test('it comes only after the end, when nothing is left open, and says what is', async () => {
  await using home = await testLedger()
  const run = drive(home, 'r1')
  await run.start()
  const callId = await run.claimed('charge')
  const early = await home.ledger.discloseRunKeys(alice, 'r1')
  assert.is(early.ok, false)
  ok(await run.do({ kind: 'fail', body: { error: { message: 'gave up' } } }))
  const refused = await home.ledger.discloseRunKeys(alice, 'r1')
  if (refused.ok) throw new Error('given away with an open call')
  assert.is(refused.refusal.code, 'open-work')
  assert.equal(listed(refused.refusal, 'calls'), [callId])
  assert.is((await run.types()).includes('RunKeyDisclosed'), false)
  ok(await run.settle(callId))
  assert.is((await disclosed(home, 'r1')).keys.length, 1)
  assert.is((await home.ledger.discloseRunKeys(alice, 'nobody')).ok, false)
})

test('after it nothing is appended: no late usage, refusal, branch or second disclosure', async () => {
  await using home = await testLedger()
  const run = drive(home, 'r1')
  await run.start()
  const callId = await run.called('charge')
  ok(await run.do({ kind: 'complete', body: {} }, idempotent('end')))
  const first = await disclosed(home, 'r1')
  const types = await run.types()
  assert.is(types.at(-1), 'RunKeyDisclosed')

  refusedWith(await run.do({ kind: 'usage', body: { agent: 'a', usage: { tokens: 5 } } }), 'run-ended')
  const late = await run.do({ kind: 'settle', callId, body: { fence: 1, error: { message: 'late' } } })
  assert.is(late.ok, false)
  refusedWith(await run.hand('writer', {}), 'run-ended')
  refusedWith(
    await run.do({ kind: 'complete', body: { output: 1 } }, idempotent('end', { other: 1 })),
    'idempotency-key-reused',
  )
  const branch = { kind: 'start', body: { id: 'b', name: 'b', branchOf: { run: 'r1', atStep: 0 } } } as const
  refusedWith(await home.run('b', branch), 'run-ended')
  assert.equal(await disclosed(home, 'r1'), first)
  assert.equal(await run.types(), types)
  assert.is((await run.state()).status, 'completed')
})

test('an event behind the disclosure is TAMPERED, though its seal fits (SEAL-13)', async () => {
  await using home = await testLedger()
  const run = drive(home, 'r1')
  await run.start()
  ok(await run.do({ kind: 'complete', body: {} }))
  const file = await disclosed(home, 'r1')
  const records = await recordsOf(home.store, 'r1')
  const last = (await run.events()).at(-1)
  const [key] = file.keys
  if (last === undefined || key === undefined) throw new Error('nothing there')
  const [forged] = sealEvents(
    [
      {
        type: 'RunCompensated',
        data: {
          v: 1,
          compensationId: '0190f0f0-0000-7000-8000-000000000000',
          status: 'COMPENSATED',
          compensated: [],
          standing: [],
          failed: [],
          unknown: [],
        },
      },
    ],
    {
      stream: file.stream,
      tenant: alice.tenant,
      actor: 'alice',
      revision: records.length,
      prev: last.digest,
      prevTime: last.header.time,
      clock: last.header.time,
      kid: key.kid,
      key: Buffer.from(key.key, 'base64url'),
      newId: () => '0190f0f0-0000-7000-8000-000000000001',
      newSalt: () => new Uint8Array(16),
    },
  )
  if (forged === undefined) throw new Error('nothing was sealed')
  const placed = [...records, { ...forged.record, stream: file.stream, revision: records.length }]
  const faults: VerifyFault[] = []
  const keys = { ring: home.keys.current().ring, runKeys: keysOf(file).runKeys }
  const items = placed.map(({ stream, revision, header, salt, data }) => ({ stream, revision, header, salt, data }))
  const whole = await verifyRecords([items.slice(0, -1)], { keys, onFault: (fault) => faults.push(fault) })
  assert.is(whole.verdict, 'VERIFIED', JSON.stringify(faults))
  assert.ok(whole.unchecked.some((text) => text.includes('disclosed')))
  const found = await verifyRecords([items], { keys, onFault: (fault) => faults.push(fault) })
  assert.is(found.verdict, 'TAMPERED')
  assert.equal(
    faults.map(({ code }) => code),
    ['after-disclosure'],
  )
  assert.is(verdictOf('after-disclosure'), 'TAMPERED')
})

test.run()
