/** @module Whether two scalars say one thing, each under a key that may name its unit: `max_open_mw: 150` and `max_open_gw: 0.15`. */
import { plainText } from '../../../../projections/plain-text.ts'
import { placeKind } from '../meaning/place-kind.ts'
import { isSameQuantity, readQuantity } from '../meaning/quantities.ts'
import { isSameScalar, type Scalar } from '../meaning/scalars.ts'
import { type Quantity, readUnit, type Unit } from '../meaning/units.ts'

const SECONDS = readUnit('seconds') as Unit
const CLOCK = /^(\d{1,3}):([0-5]\d):([0-5]\d)$/

export function isSameUnder(before: { key: string; value: Scalar }, after: { key: string; value: Scalar }): boolean {
  const [a, b] = [quantityUnder(before.key, before.value), quantityUnder(after.key, after.value)]
  if (a !== undefined && b !== undefined) return isSameQuantity(a, b)
  if (a !== undefined || b !== undefined) return before.value === after.value
  return isSameScalar(before.value, after.value, placeKind(after.key, false))
}

/** Of a time of day as well: `01:05:02` is so many seconds to a key that counts them. */
function quantityUnder(key: string, value: Scalar): Quantity | undefined {
  const { unit } = placeKind(key, false)
  if (typeof value === 'number') return unit === undefined ? undefined : { value, unit }
  if (typeof value !== 'string') return undefined
  const clock = CLOCK.exec(value)
  if (clock === null) return readQuantity(plainText(value))
  const [, hours, minutes, seconds] = clock
  return { value: Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds), unit: SECONDS }
}
