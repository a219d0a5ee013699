import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { realEffects } from '../../src/ledger/effects.ts'

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

test.run()
