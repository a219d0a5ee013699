import { createDecipheriv, hkdfSync } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import { withKept } from '../../../schemas/redacted-parts.ts'
import type { Outcome } from '../../../src/ledger/ledger.ts'
import { blindValue, deriveBlindKey } from '../../../src/signing/blind.ts'
import { jsonDigest } from '../../../src/signing/digests.ts'
import { openSqliteSubjects } from '../../../src/store/sqlite/sqlite-subjects.ts'
import type { SubjectStore } from '../../../src/store/subject-store.ts'
import { rotate } from '../../support/key-rotation.ts'
import { collect } from '../../support/records.ts'
import { alice, type TestLedger, testLedger } from '../../support/test-ledger.ts'

const test = suite('keys of subjects')

const ARGS = { customer: { id: 's', name: 'Zephyrine' } }
const KEEP = { name: 'customer', at: ['/args/customer/name'], keep: { subject: '/customer/id' } }
const DROP = { name: 'customer', at: ['/args/customer/name'] }

const done = (outcome: Outcome): JsonObject => {
  assert.ok(outcome.ok, JSON.stringify(outcome))
  return outcome.body
}
const claim = (t: TestLedger) => t.run('r', { kind: 'claim', body: { tool: 'ship', args: ARGS } })

async function claimedUnder(t: TestLedger, rule: object): Promise<JsonObject> {
  const policy = { redaction: [rule] } as JsonObject
  done(await t.run('r', { kind: 'start', body: { id: 'r', name: 'r', policy } } as never))
  done(await claim(t))
  const records = await collect(t.store.readStream(runStream(alice.tenant, 'r')))
  return JSON.parse(records[1]?.data ?? '{}')
}

/** AES-256-GCM by hand: nonce, ciphertext, tag. */
function opened(secret: Uint8Array, info: string, of: { sealed: string; aad: string }): Buffer {
  const bytes = Buffer.from(of.sealed, 'base64url')
  const key = new Uint8Array(hkdfSync('sha256', secret, '', info, 32))
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
  decipher.setAAD(Buffer.from(of.aad)).setAuthTag(bytes.subarray(-16))
  return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()])
}

test('what an event holds opens by the published formats alone, and its key is wrapped under the newest one after a rotation (LIFE-2, LIFE-3)', async () => {
  const subjects = openSqliteSubjects(':memory:')
  await using t = await testLedger({ rotates: true, subjects })
  const { redacted } = (await claimedUnder(t, KEEP)) as { redacted: { kept: { key: string; $enc: string }[] } }
  const [kept] = redacted.kept
  const before = subjects.key(kept?.key ?? '')
  await rotate(t)
  await using _next = await t.sibling()
  const { keys } = t.keys.current().ring
  const row = subjects.key(kept?.key ?? '')
  assert.is.not(row?.wrapped, before?.wrapped)
  assert.is(row?.kid, keys.at(-1)?.kid)
  const wrapped = { sealed: row?.wrapped ?? '', aad: row?.id ?? '' }
  const secret = opened(keys.at(-1)?.secret ?? new Uint8Array(), 'countersign/subject-wrap/v1\n', wrapped)
  const place = [t.ledger.ledgerId, alice.tenant, runStream(alice.tenant, 'r'), 'ToolCallClaimed', row?.id]
  const aad = JSON.stringify(['countersign/kept/v1', ...place])
  const text = opened(secret, 'countersign/subject-encrypt/v1\n', { sealed: kept?.$enc ?? '', aad })
  const { callKey, ...values } = JSON.parse(text.toString())
  assert.equal(Object.values(values), ['Zephyrine'])
  assert.match(callKey, /^sha256:/)
  const [call] = (await callsOf(t)) as { args: Json }[]
  assert.equal(call?.args, ARGS)
})

async function callsOf(t: TestLedger): Promise<Json> {
  const found = await t.ledger.calls(alice, 'r', { after: -1, limit: 10 })
  assert.ok(found.ok)
  return found.value.items as Json
}

test('digests of what was sent cannot be tried out without the key of the subject, with the key ring neither (LIFE-4)', async () => {
  const guesses = (t: TestLedger): string[] => {
    const [oldest] = t.keys.current().ring.keys
    const key = deriveBlindKey(oldest?.secret ?? new Uint8Array(), alice.tenant, runStream(alice.tenant, 'r'))
    return [jsonDigest(ARGS), blindValue(key.values, jsonDigest(ARGS))]
  }
  {
    await using dropped = await testLedger()
    const { argsDigest } = await claimedUnder(dropped, DROP)
    assert.ok(guesses(dropped).includes(String(argsDigest)), 'the control: who has the ring can try values out')
  }
  await using t = await testLedger()
  const { argsDigest } = await claimedUnder(t, KEEP)
  assert.not.ok(guesses(t).includes(String(argsDigest)))
  assert.is(((await callsOf(t)) as Json[]).length, 1)
  const again = await claim(t)
  assert.is(!again.ok && again.refusal.code, 'call-in-progress', 'the same arguments are the same call')
})

test('a key that is gone without an erasure on record reads as missing; once that is on record, as erased (LIFE-12)', async () => {
  const subjects = openSqliteSubjects(':memory:')
  await using t = await testLedger({ subjects })
  await claimedUnder(t, KEEP)
  const argsNow = async (ledger = t.ledger) => {
    const found = await ledger.runEvents(alice, 'r', { from: 1, to: 1, kept: true })
    assert.ok(found.ok)
    for await (const [event] of found.value) if (event?.kept) return withKept(event.data, event.kept).args
    return undefined
  }
  assert.equal(await argsNow(), ARGS, 'the control')
  const emptied = {
    key: (id: string) => ({ ...subjects.key(id), wrapped: null, subject: null, state: 'done' }),
    inState: () => [],
    proofOf: () => 'made-up',
    [Symbol.dispose]: () => undefined,
  }
  const byHand = new Proxy<SubjectStore>(subjects, {
    get: (target, name) => {
      const member: unknown = Reflect.get(name in emptied ? emptied : target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  const beside = await testLedger({ store: t.store, keys: t.keys.current(), subjects: byHand })
  assert.equal(await argsNow(beside.ledger), { customer: { ...ARGS.customer, name: '[key missing]' } })
  await beside.ledger[Symbol.asyncDispose]()
  const erased = await t.ledger.subjects.erase(alice, 's', { reason: 'asked', basis: 'GDPR 17', now: true })
  assert.is(erased.ok && erased.value.status, 'erased')
  assert.equal(await argsNow(await t.sibling()), { customer: { ...ARGS.customer, name: '[erased]' } })
})

test('a kept value that lies beside its event is given to nobody in the shape of its markers (LIFE-5)', async () => {
  await using t = await testLedger({ values: { inlineMaxBytes: 64 } })
  const policy = { redaction: [{ name: 'customer', at: ['/result/name'], keep: { subject: 'run' } }] } as const
  done(await t.run('r', { kind: 'start', body: { id: 'r', name: 'r', policy } } as never))
  const { callId } = done(await claim(t))
  const result = { name: 'Zephyrine', rest: 'x'.repeat(200) }
  done(await t.run('r', { kind: 'settle', callId: String(callId), body: { fence: 1, result } }))
  const again = await claim(t)
  assert.is(!again.ok && again.refusal.code, 'result-redacted')
})

test('a ledger without a place for the keys refuses what is to be kept, and records nothing of it (LIFE-3)', async () => {
  await using t = await testLedger({ subjects: 'none' })
  const policy = { redaction: [KEEP] }
  const refused = await t.run('r', { kind: 'start', body: { id: 'r', name: 'r', input: ARGS, policy } })
  assert.is(!refused.ok && refused.refusal.code, 'keep-unavailable')
  assert.equal(await collect(t.store.readStream(runStream(alice.tenant, 'r'))), [])
  const erased = await t.ledger.subjects.erase(alice, 's', { reason: 'asked', basis: 'GDPR 17' })
  assert.is(!erased.ok && erased.refusal.code, 'keep-unavailable')
})

test.run()
