import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { exampleIn, publicExports, textOf } from './support/public-exports.ts'

const test = suite('the public interface')
const EXPORTS = publicExports()
/** The handles that programs hold, and what they start with: types, and shown all the same. */
const SHOWN_TYPES = ['Client', 'Countersign', 'Run', 'RunOptions']

test('every export of countersign/agent and countersign/client says what it is (A146)', () => {
  assert.ok(EXPORTS.length > 130, 'the scan must see the exports')
  const without = EXPORTS.filter(({ comment }) => (textOf(comment).split('@example')[0] ?? '').trim().length < 10)
  assert.equal(
    without.map(({ entry, name, file }) => `${entry}: ${name} (${file})`),
    [],
  )
})

test('every function, class and constant of them, and every handle, has an example (A146)', () => {
  const shown = EXPORTS.filter(({ name, isType }) => !isType || SHOWN_TYPES.includes(name))
  assert.ok(shown.length > 40)
  const without = shown.filter(({ comment }) => exampleIn(comment) === undefined)
  assert.equal(
    without.map(({ entry, name }) => `${entry}: ${name}`),
    [],
  )
  for (const { entry, name, comment, isType } of shown) {
    const example = exampleIn(comment) ?? ''
    assert.ok(example.includes(`from '${entry}'`), `the example of ${name} imports ${entry}`)
    if (!isType) assert.match(example, new RegExp(`\\b${name}\\b`), `the example of ${name} uses it`)
  }
})

test.run()
