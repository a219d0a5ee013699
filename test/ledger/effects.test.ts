import { validate, version } from 'uuid'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { realEffects } from '../../src/ledger/effects.ts'
import { createIdSource } from '../../src/signing/id-source.ts'

const test = suite('effects of the real world')
const IDS = 4_000

/** What an id says beside its time. */
function restOf(id: string): string {
  return id.slice(14)
}

test('ids say their time and nothing else: no counter in them tells one tenant what others did in between (A100)', () => {
  const { newId } = realEffects()
  const ids = Array.from({ length: IDS }, newId)
  assert.is(new Set(ids.map(restOf)).size, IDS)
  const pairs = ids.slice(1).map((id, index) => [ids[index] ?? '', id] as const)
  const sameTime = pairs.filter(([before, after]) => before.slice(0, 13) === after.slice(0, 13))
  assert.ok(sameTime.length > IDS / 4, 'many were made within one millisecond')
  const rising = sameTime.filter(([before, after]) => restOf(before) < restOf(after)).length / sameTime.length
  assert.ok(rising > 0.4 && rising < 0.6, `${rising} of them rise, as chance has it`)
  // The distance of two of them is no count either.
  const near = sameTime.filter(([before, after]) => before.slice(0, 18) === after.slice(0, 18)).length
  assert.ok(near < sameTime.length / 100, `${near}`)
})

test('an id is a UUID of version 7 that says the millisecond it was made in, all its other bits random', () => {
  const pool = Uint8Array.from({ length: 5_120 }, (_, i) => (i * 7 + (i >> 8)) % 256)
  let nowMs = 0x0192_3456_789a
  const newId = createIdSource(
    () => pool,
    () => nowMs,
  )
  const ids = Array.from({ length: 512 }, () => newId())
  for (const id of ids) {
    assert.match(id, /^01923456-789a-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.ok(validate(id) && version(id) === 7)
  }
  const places = [15, 16, 17, 19, 20, 21, 22, ...Array.from({ length: 12 }, (_, i) => 24 + i)]
  for (const place of places)
    assert.is(new Set(ids.map((id) => id[place])).size, place === 19 ? 4 : 16, `place ${place}`)
  nowMs = 7
  assert.is(newId().slice(0, 15), '00000000-0007-7')
})

test.run()
