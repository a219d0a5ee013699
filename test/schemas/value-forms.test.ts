import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Currency, Money } from '../../schemas/names.ts'
import { isCurrency, isMoney, isUsage, NAME_MAX_CHARS, TOKENS_MAX } from '../../schemas/value-forms.ts'
import { Usage } from '../../schemas/values.ts'

const test = suite('schemas: forms that need no schema library')

const amount = fc.oneof(
  fc.constantFrom('0', '2.50', '.5', '01', '1e3', '-1', '999999999.999999999', '9999999999', '1.0000000001', ''),
  fc.stringMatching(/^\d{0,10}\.?\d{0,10}$/),
)
const member = fc.oneof(
  amount,
  fc.constantFrom(
    'USD',
    'usd',
    'USDX',
    'x'.repeat(NAME_MAX_CHARS),
    'x'.repeat(NAME_MAX_CHARS + 1),
    '',
    null,
    true,
    undefined,
  ),
  fc.constantFrom(0, -1, 0.5, TOKENS_MAX, TOKENS_MAX + 1, Number.NaN, Number.POSITIVE_INFINITY),
  fc.nat(),
)
const name = fc.constantFrom(...Object.keys(Usage.shape), 'other', '__proto__')

test('a usage fits by hand exactly where it fits its schema', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(name, member), { maxLength: 4 }), fc.boolean(), (members, whole) => {
      const usage = Object.fromEntries([...(whole ? [['tokens', 7] as const] : []), ...members])
      assert.is(isUsage(usage), Usage.safeParse(usage).success, JSON.stringify(usage))
    }),
    { numRuns: 2000 },
  )
  for (const value of [null, undefined, 'x', 7, [], [7], { tokens: 1n }])
    assert.is(isUsage(value), Usage.safeParse(value).success)
})

test('money and currencies fit by hand exactly where they fit their schemas', () => {
  fc.assert(
    fc.property(member, (value) => {
      assert.is(isMoney(value), Money.safeParse(value).success)
      assert.is(isCurrency(value), Currency.safeParse(value).success)
    }),
    { numRuns: 2000 },
  )
})

test.run()
