import { CompactSign, exportJWK, generateKeyPair } from 'jose'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { ENVELOPE_TYP, envelopeSigningInput } from '../../src/signing/agent-signature.ts'
import { fork } from '../support/fork-driver.ts'
import { drive, ok, refusedWith, replayed, verifiedFold } from '../support/run-driver.ts'
import { alice, testLedger } from '../support/test-ledger.ts'

const test = suite('what a branch adds')

const FROZEN: JsonObject = {
  constraints: ['no flights before 8', 'at most 900 EUR'],
  order: { lines: [{ sku: 'A', qty: 1 }], route: ['Oslo', 'Bergen'] },
}

async function frozen() {
  const opened = await testLedger()
  const run = drive(opened, 'r')
  await run.start({ policy: { suspect: 'refuse' } })
  ok(await run.hand('ann', FROZEN))
  return { opened, run, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() }
}

test('a union holds what every branch added to a list that a payload has to say whole (JUD-35)', async () => {
  await using at = await frozen()
  const open = await fork(at.run, 'union', ['a', 'b', 'c'])
  assert.is((await open.offer('a', { constraints: ['an aisle seat'] })).status, 'refused')
  assert.is((await open.offer('b', {}, { add: { constraints: ['no stop in Oslo'] } })).status, 'offered')
  const add = { constraints: ['a vegan meal'], order: { lines: [{ sku: 'B', qty: 2 }] } }
  assert.is((await open.offer('c', { facts: { class: 'economy' } }, { add })).status, 'offered')
  const joined = ok(await open.join())
  assert.equal(joined.winners, ['b', 'c'])
  assert.equal(joined.context, {
    constraints: ['no flights before 8', 'at most 900 EUR', 'no stop in Oslo', 'a vegan meal'],
    order: {
      lines: [
        { sku: 'A', qty: 1 },
        { sku: 'B', qty: 2 },
      ],
      route: ['Oslo', 'Bergen'],
    },
    facts: { class: 'economy' },
  })
  await verifiedFold(at.opened, 'r')
  assert.is((await replayed(at.opened.ledger, 'r')).verdict, 'VERIFIED')
})

for (const join of ['vote', 'first_wins'] as const) {
  test(`the handoff of a ${join} says what the winner added, and a ledger that loads the run reads the same context (JUD-35)`, async () => {
    await using at = await frozen()
    const open = await fork(at.run, join, ['a', 'b'])
    const add = { order: { route: ['Tromsø'] } }
    ok(await open.report('a', { output: { by: 'a' }, add, score: 2 }))
    ok(await open.report('b', { output: { by: 'b' }, score: 1 }))
    const joined = ok(await open.join())
    const route = ['Oslo', 'Bergen', 'Tromsø']
    assert.equal(joined.context, { ...FROZEN, order: { ...(FROZEN.order as JsonObject), route }, by: 'a' })
    const recorded = (await at.run.events()).filter(({ data }) => data.add !== undefined)
    assert.equal(
      recorded.map(({ header, data }) => [header.type, data.payload, data.add]),
      [
        ['BranchOffered', { by: 'a' }, add],
        ['EnvelopeAccepted', { by: 'a' }, add],
      ],
    )
    const again = await at.opened.sibling()
    const found = await again.context(alice, 'r', {})
    assert.equal(found.ok && found.value.context, joined.context)
    await again[Symbol.asyncDispose]()
    await verifiedFold(at.opened, 'r')
    assert.is((await replayed(at.opened.ledger, 'r')).verdict, 'VERIFIED')
  })
}

test('what a branch adds is judged, held against its manifest, and refused on record like its output (JUD-35, A182)', async () => {
  await using at = await frozen()
  const schema = { type: 'object', properties: { order: { type: 'object', maxProperties: 0 } } }
  ok(await at.run.do({ kind: 'manifest', body: { agent: 'm', schema, writes: ['order'] } }))
  const open = await fork(at.run, 'union', ['a', 'm', 'x'])
  const changes = { order: { lines: [{ sku: 'A', qty: 9 }] } }
  const changed = await open.offer('a', {}, { add: changes })
  assert.equal([changed.status, pathsOf(changed)], ['refused', ['contradicted /order/lines/0/qty']])
  const outside = await open.offer('m', {}, { add: { order: { gift: true }, facts: { a: 1 } } })
  assert.equal(
    pathsOf(outside).map((text) => text.split(' ')[0]),
    ['manifest-violation', 'schema-violation'],
  )
  const long = await open.offer('x', {}, { add: { long: 'x'.repeat(512 * 1024) } })
  assert.equal([long.status, (long.error as JsonObject).code], ['refused', 'context-too-large'])
  const refused = (await at.run.events()).find(({ header }) => header.type === 'BranchReceived')
  assert.equal([refused?.data.payload, refused?.data.add], [{}, changes])
})

test('two branches that add one thing with different values come to nothing', async () => {
  await using at = await frozen()
  const open = await fork(at.run, 'union', ['a', 'b'])
  await open.offer('a', {}, { add: { order: { lines: [{ sku: 'B', qty: 2 }] } } })
  await open.offer('b', {}, { add: { order: { lines: [{ sku: 'B', qty: 3 }] } } })
  const refusal = refusedWith(await open.join(), 'fork-failed')
  assert.equal(pathsOf(refusal.evidence ?? {}), ['duplicate-identity /order/lines/2'])
})

test("what a branch adds is below its agent's signature: put in or changed on the way, it is refused (A182)", async () => {
  await using at = await frozen()
  const { publicKey, privateKey } = await generateKeyPair('EdDSA')
  const jwk = (await exportJWK(publicKey)) as JsonObject
  ok(await at.run.do({ kind: 'manifest', body: { agent: 'a', jwk, requireSignature: true } }))
  const open = await fork(at.run, 'vote', ['a'])
  const parent = String(open.body.parent)
  const add = { constraints: ['an aisle seat'] }
  const sign = async (said: { add?: JsonObject }) => {
    const place = { ledgerId: at.opened.ledger.ledgerId, tenant: alice.tenant, run: 'r', agent: 'a', parent }
    const input = envelopeSigningInput({ ...place, mode: 'extend', payload: {}, ...said })
    const header = { alg: 'EdDSA', typ: ENVELOPE_TYP }
    return (await new CompactSign(input).setProtectedHeader(header).sign(privateKey)).replace(/\.[^.]*\./, '..')
  }
  const [unsaid, said] = [await sign({}), await sign({ add })]
  refusedWith(await open.report('a', { output: {}, add, parent, signature: unsaid }), 'signature-invalid')
  const other = { constraints: ['a window seat'] }
  refusedWith(await open.report('a', { output: {}, add: other, parent, signature: said }), 'signature-invalid')
  assert.is(ok(await open.report('a', { output: {}, add, parent, signature: said })).status, 'offered')
  assert.equal((ok(await open.join()).context as JsonObject).constraints, [
    ...(FROZEN.constraints as string[]),
    'an aisle seat',
  ])
})

function pathsOf({ findings }: JsonObject): string[] {
  const all = (findings ?? []) as unknown as readonly { rule: string; path: string }[]
  return all.map(({ rule, path }) => `${rule} ${path}`).sort()
}

test.run()
