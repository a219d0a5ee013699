import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Finding } from '../../schemas/finding.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { drive, ok, refusedWith } from '../support/run-driver.ts'
import { testLedger } from '../support/test-ledger.ts'

const findings = suite('findings of handoffs')

/** A run of four steps: each establishes something, the third changes what the first said. */
async function established(policy: object = { suspect: 'refuse' }) {
  const test = await testLedger()
  const run = drive(test, 'r')
  await run.start({ policy })
  ok(await run.hand('ann', { order: { city: 'Bern', qty: 6 } }))
  ok(await run.hand('bob', { order: { lines: [{ sku: 'A-1', price: 12 }] } }, { mode: 'extend' }))
  const supersedes = [{ path: '/order/qty', reason: 'the customer called' }]
  ok(await run.hand('cleo', { order: { qty: 5 } }, { mode: 'merge', supersedes }))
  ok(await run.hand('dan', { order: { severity: 'high' } }, { mode: 'extend' }))
  const eventOf = async (step: number) => {
    const event = (await run.events()).find(({ data }) => data.step === step)
    return { step, revision: event?.header.revision, eventId: event?.header.id }
  }
  const refused = async (payload: JsonObject, mode: 'merge' | 'extend' = 'merge') =>
    refusedWith(await run.hand('eve', payload, { mode }), 'contradiction').evidence?.findings as unknown as Finding[]
  return { run, eventOf, refused, [Symbol.asyncDispose]: () => test[Symbol.asyncDispose]() }
}

findings(
  'each names the step and the event that established the value, both values, and an entry that is ready but for the reason (JUD-26)',
  async () => {
    await using at = await established()
    const cases: [payload: JsonObject, path: string, step: number][] = [
      [{ order: { city: 'Basel' } }, '/order/city', 1],
      [{ order: { qty: 4 } }, '/order/qty', 3],
      [{ order: { lines: [{ sku: 'A-1', price: 21 }] } }, '/order/lines/0/price', 2],
      [{ order: { severity: null } }, '/order/severity', 4],
    ]
    for (const [payload, path, step] of cases) {
      const found = (await at.refused(payload)).find((each) => each.path === path)
      assert.equal(found?.established, await at.eventOf(step), path)
      assert.ok(found?.before !== undefined, path)
      assert.equal(found?.supersede, { path, reason: '' })
      const supersedes = [{ path: found?.supersede?.path ?? '', reason: 'as the customer says' }]
      assert.ok((await at.run.hand('eve', payload, { mode: 'merge', supersedes })).ok, `${path}: passes with the entry`)
      ok(await at.run.do({ kind: 'rollback', body: { reason: 'the next case' } }))
    }
  },
)

findings(
  'a second key for what is established, and a value said again elsewhere, say where the established one stands (JUD-26)',
  async () => {
    await using at = await established()
    ok(await at.run.hand('dan', { severity: 'high', invoice: { vat_rate: 8.1 } }, { mode: 'merge' }))
    const shadow = (await at.refused({ Severity: 'low' })).find(({ rule }) => rule === 'shadow-key')
    assert.equal([shadow?.of, shadow?.established], ['/severity', await at.eventOf(5)])
    const again = (await at.refused({ invoice: { tax: { vat_rate: 2.6 } } })).find(({ rule }) => rule === 'restated')
    assert.equal([again?.of, again?.established], ['/invoice/vat_rate', await at.eventOf(5)])
  },
)

findings(
  'each says where the value is in what was sent, by the identity of list members, and where a value is gone what held it (JUD-98)',
  async () => {
    await using at = await established()
    const placeOf = async (payload: JsonObject, path: string) =>
      (await at.refused(payload)).find((each) => each.path === path)?.inHandoff
    assert.is(await placeOf({ order: { city: 'Basel' } }, '/order/city'), '/payload/order/city')
    const lines = [
      { sku: 'N-9', price: 3 },
      { sku: 'A-1', price: 21 },
    ]
    assert.is(await placeOf({ order: { lines } }, '/order/lines/0/price'), '/payload/order/lines/1/price')
    assert.is(await placeOf({ order: { severity: null } }, '/order/severity'), '/payload/order/severity')
  },
)

findings('what a run begins with was established by its first event', async () => {
  await using at = await established({ protect: '*', free: [], suspect: 'refuse' })
  ok(await at.run.do({ kind: 'rollback', body: { reason: 'back', toStep: 1 } }))
  const [found] = await at.refused({ order: { city: 'Basel' } })
  assert.equal(found?.established, await at.eventOf(1))
})

findings('the event of a verdict names its rule set; runs under relay have none (JUD-26)', async () => {
  for (const [policy, rules] of [
    [{}, 2],
    [{ base: 'relay' }, undefined],
  ] as const) {
    await using at = await established(policy)
    await at.run.hand('eve', {})
    const verdicts = (await at.run.events()).filter(({ header }) => /^Envelope/.test(header.type))
    assert.ok(verdicts.length >= 2)
    for (const { data } of verdicts) assert.is(data.rules, rules)
  }
})

findings.run()
