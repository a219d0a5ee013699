import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../schemas/json.ts'
import type { RedactionRule } from '../../schemas/redaction.ts'
import type { Outcome } from '../../src/ledger/ledger.ts'
import { rotate } from '../support/key-rotation.ts'
import { collect } from '../support/records.ts'
import { alice, type TestLedger, testLedger } from '../support/test-ledger.ts'

const test = suite('redaction')

const EMAIL = 'alice.liddell@example.com'
const OTHER = 'bob@example.org'
const CARD = '4111 1111 1111 1111'
/** Of both ways in which it is written, and in no digest by chance. */
const OF_CARD = /4111 ?1111/
const RULES: readonly RedactionRule[] = [
  { name: 'email', find: ['email'] },
  { name: 'card', find: ['card'] },
  { name: 'password', at: ['/**/password'] },
]

const under = (redaction: readonly RedactionRule[] = RULES) =>
  testLedger({ tenantPolicy: () => ({ redaction: [...redaction] }) })

function bodyOf(outcome: Outcome): JsonObject {
  assert.ok(outcome.ok, JSON.stringify(outcome))
  return outcome.body
}
function codeOf(outcome: Outcome): string {
  if (outcome.ok) throw new Error(JSON.stringify(outcome))
  return outcome.refusal.code
}

/** All that the store holds of the tenant, as text. */
async function stored({ store }: TestLedger): Promise<string> {
  const texts: string[] = []
  for (const { stream, header, data } of await collect(store.readAll())) {
    if (stream.includes(alice.tenant)) texts.push(header, data)
  }
  return texts.join('\n')
}

const start = (t: TestLedger, input: Json = null) => t.run('r', { kind: 'start', body: { id: 'r', name: 'r', input } })
const claim = (t: TestLedger, args: Json, more: object = {}) =>
  t.run('r', { kind: 'claim', body: { tool: 'send', args, ...more } })

test('what a rule finds is in no event, and the event says which rule left out what and where (RUN-94)', async () => {
  await using t = await under()
  bodyOf(await start(t, { from: `Mail ${EMAIL}, card ${CARD}.`, login: { password: { deep: 'hunter22' } } }))
  const accepted = bodyOf(
    await t.run('r', {
      kind: 'envelope',
      body: { agent: 'ann', payload: { facts: { mail: EMAIL, [OTHER]: 1, pay: 4111111111111111 } } },
    }),
  )
  assert.equal(accepted.redacted, {
    policy: (accepted.redacted as JsonObject).policy,
    counts: { email: 2, card: 1 },
    values: [
      { at: '/payload/facts/mail', rule: 'email' },
      { at: '/payload/facts', rule: 'email', member: true },
      { at: '/payload/facts/pay', rule: 'card' },
    ],
  })
  const text = await stored(t)
  for (const secret of ['liddell', 'bob@', OF_CARD, 'hunter22']) assert.not.match(text, secret)
  assert.match(
    text,
    '"input":{"from":"Mail [redacted: email], card [redacted: card].","login":{"password":"[redacted: password]"}}',
  )
  assert.match(text, '"facts":{"mail":"[redacted: email]","pay":"[redacted: card]"}')
})

test('two calls that differ only in what is left out are two calls; the same one is found again, after a rotation too (RUN-96, A251)', async () => {
  await using t = await testLedger({ rotates: true, tenantPolicy: () => ({ redaction: [...RULES] }) })
  bodyOf(await start(t))
  const one = bodyOf(await claim(t, { to: EMAIL }))
  const two = bodyOf(await claim(t, { to: OTHER }))
  assert.is.not(one.callId, two.callId)
  await t.run('r', { kind: 'settle', callId: String(one.callId), body: { fence: 1, result: 'sent' } })
  await rotate(t)
  await t.run('r', { kind: 'usage', body: { agent: 'ann', usage: { tokens: 1 } } })
  const again = bodyOf(await claim(t, { to: EMAIL }))
  assert.equal([again.callId, again.result], [one.callId, 'sent'])
  assert.is(codeOf(await claim(t, { to: OTHER }, { key: one.key as string })), 'call-key-reused')
})

test('a result of which something was left out is nobody’s result: 409 result-redacted, and the same settle again is the same (RUN-98)', async () => {
  await using t = await under()
  bodyOf(await start(t))
  const { callId } = bodyOf(await claim(t, { id: 1 }))
  const settle = () =>
    t.run('r', { kind: 'settle', callId: String(callId), body: { fence: 1, result: { mail: EMAIL } } })
  assert.ok('redacted' in bodyOf(await settle()))
  assert.is(bodyOf(await settle()).status, 'succeeded')
  const refused = await claim(t, { id: 1 })
  assert.is(codeOf(refused), 'result-redacted')
  assert.not.match(JSON.stringify(refused), 'liddell')
})

test('the same idempotency key with the same original repeats, with another original it is refused (RUN-97)', async () => {
  await using t = await under()
  bodyOf(await start(t))
  const hand = (mail: string) => {
    const body = { agent: 'ann', payload: { facts: { mail } } }
    const idempotency = { key: 'k', method: 'POST', path: '/x', body: body as unknown as Json }
    return t.run('r', { kind: 'envelope', body }, { idempotency })
  }
  const first = bodyOf(await hand(EMAIL))
  const again = await hand(EMAIL)
  assert.ok(again.ok && again.replayed)
  assert.equal(bodyOf(again), first)
  assert.is(codeOf(await hand(OTHER)), 'idempotency-key-reused')
})

test('a run of the same id and input is the same run, one of another input is not (RUN-97)', async () => {
  await using t = await under()
  const body = bodyOf(await start(t, EMAIL))
  assert.is(bodyOf(await start(t, EMAIL)).resumed, true)
  assert.is(codeOf(await start(t, OTHER)), 'run-exists')
  assert.is(String(body.callKey).length, 43, 'whoever owns the run is told what its calls are found by')
  assert.not.match(await stored(t), String(body.callKey))
})

test('rules that are added apply to the next event, which says so; those that were in force stay (RUN-95, F217)', async () => {
  let rules: RedactionRule[] = [{ name: 'card', find: ['card'] }]
  await using t = await testLedger({ tenantPolicy: () => ({ redaction: rules }) })
  bodyOf(await start(t, { mail: EMAIL }))
  const plain = bodyOf(await claim(t, { to: EMAIL }))
  await t.run('r', { kind: 'settle', callId: String(plain.callId), body: { fence: 1, result: 'sent' } })
  const before = (await stored(t)).split('liddell').length
  rules = [{ name: 'email', find: ['email'] }]
  assert.is(bodyOf(await claim(t, { to: EMAIL })).callId, plain.callId, 'a call of before is found')
  await t.run('r', { kind: 'envelope', body: { agent: 'ann', payload: { facts: { a: OTHER, b: CARD } } } })
  rules = []
  await t.run('r', { kind: 'envelope', body: { agent: 'ann', payload: { facts: { a: OTHER, b: CARD, c: 1 } } } })
  const text = await stored(t)
  assert.is(text.split('liddell').length, before)
  for (const secret of ['bob@', OF_CARD]) assert.not.match(text, secret)
  assert.is(text.split('"type":"RedactionChanged"').length, 2, 'said once')
})

test('a handoff that carries a value on that is left out is accepted, and what cannot be compared is named (JUD-37)', async () => {
  await using t = await under()
  bodyOf(await start(t))
  const hand = (facts: JsonObject) => t.run('r', { kind: 'envelope', body: { agent: 'ann', payload: { facts } } })
  bodyOf(await hand({ mail: EMAIL, n: 1 }))
  const [finding] = bodyOf(await hand({ mail: EMAIL, n: 1 })).findings as JsonObject[]
  assert.equal([finding?.rule, finding?.severity, finding?.path], ['redacted', 'warning', '/facts/mail'])
  assert.is((bodyOf(await hand({ mail: '[redacted: email]', n: 1 })).findings as unknown[]).length, 0)
  assert.is(codeOf(await hand({ mail: 'none', n: 1 })), 'contradiction')
})

test('a comparable rule tells another value from the same one, and its digest is no digest of the value (RUN-96)', async () => {
  await using t = await under([{ name: 'email', find: ['email'], comparable: true }])
  bodyOf(await start(t))
  const hand = (mail: string) => t.run('r', { kind: 'envelope', body: { agent: 'ann', payload: { facts: { mail } } } })
  bodyOf(await hand(EMAIL))
  assert.equal(bodyOf(await hand(EMAIL)).findings, [])
  assert.is(codeOf(await hand(OTHER)), 'contradiction')
  assert.match(await stored(t), /\[redacted: email #[0-9a-f]{32}\]/)
})

test('a model or a provider that holds what a rule finds is refused wherever it is told, and is in no event (RUN-99, A335)', async () => {
  await using t = await under()
  bodyOf(await start(t))
  const call = { tool: 't', args: {}, key: 'k' }
  for (const named of [{ model: EMAIL }, { provider: EMAIL }, { agent: EMAIL }]) {
    const claimed = await t.run('r', { kind: 'claim', body: { ...call, reserve: { tokens: 1, ...named } } })
    assert.is(codeOf(claimed), 'redacted-name')
  }
  const { callId } = bodyOf(await t.run('r', { kind: 'claim', body: call }))
  const { reservationId } = bodyOf(await t.run('r', { kind: 'reserve', body: { agent: 'ann', tokens: 1 } }))
  for (const named of [{ model: EMAIL }, { provider: EMAIL }]) {
    const usage = { tokens: 1, ...named }
    const answers = [
      await t.run('r', { kind: 'settle', callId: String(callId), body: { fence: 1, result: null, usage } }),
      await t.run('r', { kind: 'usage', body: { agent: 'ann', usage } }),
      await t.run('r', { kind: 'settle-reservation', reservationId: String(reservationId), body: { usage } }),
    ]
    assert.equal(answers.map(codeOf), ['redacted-name', 'redacted-name', 'redacted-name'])
  }
  const usage = { tokens: 1, provider: 'p', model: 'm-1' }
  bodyOf(await t.run('r', { kind: 'settle', callId: String(callId), body: { fence: 1, result: null, usage } }))
  assert.not.match(await stored(t), 'liddell')
})

test('a run whose rule can match nothing is refused before anything is recorded; one that has such a rule on record goes on (LIFE-11)', async () => {
  const dead: RedactionRule = { name: 'customer', at: ['/args/x', '/customer/**'] }
  for (const rule of [dead, { ...dead, keep: { subject: 'run' as const } }, { ...dead, find: ['email' as const] }]) {
    await using t = await under([])
    const policy = { redaction: [rule] }
    const refused = await t.run('r', { kind: 'start', body: { id: 'r', name: 'r', input: { customer: 1 }, policy } })
    if (refused.ok) throw new Error('it was started')
    const { code, pointer, detail } = refused.refusal
    assert.equal([code, pointer], ['policy-invalid', '/policy/redaction/0/at/1'])
    assert.match(detail, '/*/customer/**')
    assert.not.match(await stored(t), '/customer')
  }
  await using before = await under([dead])
  bodyOf(await start(before))
  bodyOf(await claim(before, { x: 1 }))
})

test('names, signed handoffs and texts beyond what can be looked through are refused, and nothing of them is recorded (RUN-99)', async () => {
  await using t = await under()
  bodyOf(await start(t))
  assert.is(codeOf(await claim(t, 1, { scope: `step:${EMAIL}` })), 'redacted-name')
  for (const body of [
    { name: EMAIL },
    { name: 'n', budget: { agents: { [EMAIL]: { tokens: 5 } } } },
    { name: 'n', policy: { base: 'default', moves: [{ path: '/a', as: 'free', reason: `asked for by ${EMAIL}` }] } },
    { name: 'n', policy: { base: 'default', protect: [EMAIL] } },
  ] as const)
    assert.is(codeOf(await t.run('s', { kind: 'start', body } as never)), 'redacted-name', JSON.stringify(body))
  const signed = { agent: 'ann', payload: { a: EMAIL }, signature: 'a..b' }
  assert.is(codeOf(await t.run('r', { kind: 'envelope', body: signed })), 'redacted-signed')
  assert.is(codeOf(await claim(t, 'x'.repeat(1024 * 1024 + 1))), 'redaction-too-large')
  assert.not.match(await stored(t), 'liddell')
})

test.run()
