import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { OFFICIAL_EFFECTS, parseEffects, ruleOf } from '../../src/capture/effects.ts'

const effects = suite('capture: effects')

effects('a tool of which nothing is declared is once, whatever its name is (CAP-5)', () => {
  assert.equal(ruleOf({}, 'toString'), { effect: 'once' })
  assert.equal(ruleOf(OFFICIAL_EFFECTS.filesystem ?? {}, 'read_text_file'), { effect: 'none' })
  assert.equal(ruleOf(OFFICIAL_EFFECTS.filesystem ?? {}, 'move_file'), { effect: 'once' })
})

effects('a file says effects and prices, and one that does not is refused with the tool at fault', () => {
  const read = parseEffects('{"tools": {"a": "none", "b": {"effect": "once", "cost": "0.05 USD"}}}')
  assert.equal(read.ok ? read.effects : read.message, {
    a: { effect: 'none' },
    b: { effect: 'once', price: { cost: '0.05', currency: 'USD' } },
  })
  const wrong = [
    '{"tools": {"a": "never"}}',
    '{"tools": {"a": {"effect": "none", "cost": "5"}}}',
    '{"tools": {"a": {"effect": "once", "price": 1}}}',
  ]
  for (const text of wrong) {
    const refused = parseEffects(text)
    assert.match(refused.ok ? '' : refused.message, /the tool a takes/, text)
  }
  assert.is(parseEffects('nothing').ok, false)
})

effects.run()
