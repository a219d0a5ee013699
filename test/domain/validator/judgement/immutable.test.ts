import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json } from '../../../../schemas/json.ts'
import type { PolicyObject } from '../../../../schemas/policy.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'

const test = suite('judgement: immutable places')

/** Changes that are progress elsewhere: of a state, a counter, a clock, a monotonic number, one within its tolerance. */
const PROGRESS: readonly (readonly [key: string, before: Json, after: Json, more?: PolicyObject])[] = [
  ['status', 'pending', 'done'],
  ['attempts', 1, 2],
  ['updated_at', '2026-05-01T08:00:00Z', '2026-05-01T09:00:00Z'],
  ['n', 1, 2, { monotonic: { '/order/n': 'up' } }],
  ['n', 1, 2, { tolerance: { '/order/n': { absolute: 5 } } }],
]

test('progress is a change of an immutable place as well, superseded or not; the same value in another form is none (JUD-73)', () => {
  for (const [key, before, after, more = {}] of PROGRESS) {
    const judge = (policy: PolicyObject, value: Json) =>
      validateHandoff({
        before: { order: { id: 'A-1', [key]: before } },
        after: { order: { id: 'A-1', [key]: value } },
        policy: resolvePolicy({ ...more, ...policy }),
        supersedes: [{ path: `/order/${key}`, reason: 'it went on, as it should' }],
      })
    assert.is(judge({}, after).verdict, 'accept', key)
    for (const path of [`/order/${key}`, '/order', '/*/*']) {
      const { verdict, findings } = judge({ immutable: [path] }, after)
      assert.equal([verdict, findings[0]?.rule], ['reject', 'immutable'], `${key} ${path}`)
      assert.is(judge({ immutable: [path] }, before).verdict, 'accept')
      if (typeof before === 'string') assert.is(judge({ immutable: [path] }, ` ${before} `).verdict, 'accept')
    }
  }
})

test.run()
