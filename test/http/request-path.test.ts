import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { handOver } from '../support/hand-over.ts'
import { filesCrossed } from '../support/module-calls.ts'
import { testEdge } from '../support/test-edge.ts'

const test = suite('http: the path of a request')

test('(A143) a handoff crosses a bounded number of files, from its request to its answer', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  await handOver(edge, 'the first')
  // What a timer runs meanwhile is not on the way.
  let files = await filesCrossed(() => handOver(edge, 'the second'))
  for (const note of ['the third', 'the fourth', 'the fifth', 'the sixth']) {
    const again = await filesCrossed(() => handOver(edge, note))
    files = files.filter((file) => again.includes(file))
  }
  assert.ok(files.includes('src/domain/handoff'), 'the count must see the way of the handoff')
  const [rules, way] = [files.filter(isOfValidator), files.filter((file) => !isOfValidator(file))]
  assert.ok(way.length <= WAY_MAX, `${way.length}:\n${way.join('\n')}`)
  assert.ok(rules.length <= RULES_MAX, `${rules.length}:\n${rules.join('\n')}`)
})

const isOfValidator = (file: string): boolean => file.startsWith('src/domain/validator/')

/** May fall and must not rise: whoever reads the way of a handoff reads so many files. */
const WAY_MAX = 41
/** Of the validator: the rules that look at a handoff in which nothing is wrong. */
const RULES_MAX = 26

test.run()
