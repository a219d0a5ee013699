import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { productInDecimal, sumInDecimal } from '../../../src/domain/validator/policy/in-decimal.ts'
import { seededRandom, TEST_SEED } from '../../support/random.ts'

const test = suite('numbers in decimal')

const CASES = 3_000

/** The number as it is written: a whole number of units of ten to the minus `decimals`. */
function written(value: number): { readonly units: bigint; readonly decimals: number } {
  const [, sign = '', whole = '', part = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/.exec(String(value)) ?? []
  const units = BigInt(whole + part) * (sign === '-' ? -1n : 1n)
  const decimals = part.length - Number(exponent)
  return decimals < 0 ? { units: units * 10n ** BigInt(-decimals), decimals: 0 } : { units, decimals }
}

const isSame = (value: number, units: bigint, decimals: number): boolean => {
  const found = written(value)
  return found.units * 10n ** BigInt(decimals) === units * 10n ** BigInt(found.decimals)
}

test('sums and products are those of the numbers as they are written, or unknown (RUN-60)', () => {
  const random = seededRandom(TEST_SEED)
  let known = 0
  const draw = (): number => {
    const digits = Math.floor(random() * 10 ** (1 + Math.floor(random() * 9)))
    const value = Number(`${digits}e${Math.floor(random() * 28) - 20}`)
    return random() < 0.3 ? -value : value
  }
  for (let at = 0; at < CASES; at += 1) {
    const [a, b] = [draw(), draw()]
    const [x, y] = [written(a), written(b)]
    const decimals = Math.max(x.decimals, y.decimals)
    const units = x.units * 10n ** BigInt(decimals - x.decimals) + y.units * 10n ** BigInt(decimals - y.decimals)
    const [sum, product] = [sumInDecimal(a, b), productInDecimal(a, b)]
    assert.ok(sum === undefined || isSame(sum, units, decimals), `${a} + ${b} = ${sum}, seed ${TEST_SEED}`)
    const isProduct = product === undefined || isSame(product, x.units * y.units, x.decimals + y.decimals)
    assert.ok(isProduct, `${a} * ${b} = ${product}, seed ${TEST_SEED}`)
    known += (sum === undefined ? 0 : 1) + (product === undefined ? 0 : 1)
  }
  assert.ok(known > CASES / 2, `${known} of ${2 * CASES} are known`)
})

test.run()
