import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { fromNano, toNano } from '../../../schemas/money.ts'
import {
  checkedPrices,
  outputFor,
  type Price,
  priced,
  pricedAtMost,
  priceOf,
} from '../../../src/agent/models/price-table.ts'
import { codeOf } from '../homes.ts'

const prices = suite('prices')

const amount = fc.bigInt({ min: 0n, max: 10n ** 12n }).map(fromNano)
const tokens = fc.nat(1_000_000_000)
const price: fc.Arbitrary<Price> = fc.record(
  { input: amount, output: amount, cachedInput: amount, cacheWrite: amount },
  { requiredKeys: ['input', 'output'] },
)

prices('are exact to the last nano, rounded up once: tokens times price over a million, in fractions', () => {
  assert.is(priced({ input: '2.50', output: '10.00' }, { inputTokens: 1_000, outputTokens: 1_000 }), '0.0125')
  assert.is(priced({ input: '0.1', output: '0.2' }, { inputTokens: 1, outputTokens: 1 }), '0.0000003')
  assert.is(priced({ input: '0.000000001', output: '0' }, { inputTokens: 1, outputTokens: 0 }), '0.000000001')
  assert.is(
    priced(
      { input: '3', output: '15', cachedInput: '0.3' },
      { inputTokens: 10, outputTokens: 0, cachedInputTokens: 9 },
    ),
    '0.0000057',
  )
  fc.assert(
    fc.property(price, tokens, tokens, fc.nat(1_000), fc.nat(1_000), (each, fresh, output, cached, written) => {
      const usage = {
        inputTokens: fresh + cached + written,
        outputTokens: output,
        cachedInputTokens: cached,
        cacheWriteTokens: written,
      }
      const scaled =
        BigInt(fresh) * toNano(each.input) +
        BigInt(output) * toNano(each.output) +
        BigInt(cached) * toNano(each.cachedInput ?? each.input) +
        BigInt(written) * toNano(each.cacheWrite ?? each.input)
      const nano = toNano(priced(each, usage))
      assert.ok(nano * 1_000_000n >= scaled && (nano - 1n) * 1_000_000n < scaled)
      assert.ok(toNano(pricedAtMost(each, { input: usage.inputTokens, output })) >= nano, 'a projection is never below')
    }),
  )
})

prices('what an amount pays for costs no more than it, and one token more does', () => {
  fc.assert(
    fc.property(amount, fc.bigInt({ min: 1n, max: 10n ** 12n }).map(fromNano), (left, output) => {
      const each = { input: '0', output }
      const bound = outputFor(each, toNano(left))
      if (bound === undefined || !Number.isSafeInteger(bound + 1)) return
      assert.ok(toNano(pricedAtMost(each, { input: 0, output: bound })) <= toNano(left))
      assert.ok(BigInt(bound + 1) * toNano(output) > toNano(left) * 1_000_000n)
    }),
  )
})

prices('are found by provider and model, then by model; a name such as constructor has none', () => {
  const small = { input: '1', output: '1' }
  const own = { input: '2', output: '2' }
  const table = { currency: 'USD', models: { m: small, 'acme/m': own } }
  assert.is(priceOf(table, 'acme', 'm'), own)
  assert.is(priceOf(table, 'other', 'm'), small)
  assert.is(priceOf(table, 'acme', 'constructor'), undefined)
  assert.is(priceOf(undefined, 'acme', 'm'), undefined)
})

prices('that are no decimal strings are refused when the table is passed', () => {
  const refused = (models: object, currency = 'USD'): unknown => {
    try {
      checkedPrices({ currency, models: models as { [name: string]: Price } })
    } catch (error) {
      return codeOf(error)
    }
    return 'taken'
  }
  assert.is(refused({ m: { input: '2.50', output: '10' } }), 'taken')
  for (const bad of [2.5, '2,50', '-1', '1e3', '', '0.0000000001', Number.NaN]) {
    assert.is(refused({ m: { input: bad, output: '1' } }), 'invalid-prices')
    assert.is(refused({ m: { input: '1', output: '1', cachedInput: bad } }), 'invalid-prices')
  }
  assert.is(refused({ m: { input: '1' } }), 'invalid-prices')
  assert.is(refused({ m: { input: '1', output: '1', maxOutputTokens: 0 } }), 'invalid-prices')
  assert.is(refused({}, 'dollars'), 'invalid-prices')
})

prices.run()
