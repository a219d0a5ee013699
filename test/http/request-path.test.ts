import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { callChains, filesCrossed } from '../support/module-calls.ts'
import { type TestEdge, testEdge } from '../support/test-edge.ts'

const test = suite('http: the path of a request')

const handOver = async (edge: TestEdge, note: string): Promise<void> => {
  const response = await edge.post('/v1/runs/r/envelopes', { agent: 'a', payload: { note } })
  assert.is(response.status, 201, await response.text())
}

test('(A143) a handoff crosses a bounded number of files, from its request to its answer', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  await handOver(edge, 'the first')
  // What a timer runs meanwhile is not on the way.
  let files = await filesCrossed(() => handOver(edge, 'the second'))
  for (const note of ['the third', 'the fourth']) {
    const again = await filesCrossed(() => handOver(edge, note))
    files = files.filter((file) => again.includes(file))
  }
  assert.ok(files.includes('src/domain/handoff'), 'the count must see the way of the handoff')
  const [rules, way] = [files.filter(isOfValidator), files.filter((file) => !isOfValidator(file))]
  assert.ok(way.length <= WAY_MAX, `${way.length}:\n${way.join('\n')}`)
  assert.ok(rules.length <= RULES_MAX, `${rules.length}:\n${rules.join('\n')}`)
})

test('on the way of a handoff no module calls back into one that called it, but for those that run what they are passed', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  await handOver(edge, 'the first')
  let note = 0
  const chains = await callChains(() => handOver(edge, `another ${note++}`))
  const ways = [...chains].map((chain) => chain.split(' > ').filter((file) => !RUN_WHAT_THEY_ARE_PASSED.includes(file)))
  const deepest = ways.toSorted((a, b) => b.length - a.length)[0] ?? []
  assert.ok(deepest.includes('src/ledger/write/decide') && deepest.length > 5, 'the stacks must see the way')
  const turning = ways.map((files) => files.filter((file, at) => file !== files[at - 1])).filter(hasTwice)
  assert.equal([...new Set(turning.map((files) => files.join(' > ')))], [])
})

const hasTwice = (files: readonly string[]): boolean => new Set(files).size < files.length

/** A table of functions by the type of an event; the steps of work that pauses; the account of time that work took. */
const RUN_WHAT_THEY_ARE_PASSED = ['projections/fold-table', 'src/domain/paced', 'src/resources/work-queue']

const isOfValidator = (file: string): boolean => file.startsWith('src/domain/validator/')

/** May fall and must not rise: whoever reads the way of a handoff reads so many files. */
const WAY_MAX = 54
/** Of the validator: the rules that look at a handoff in which nothing is wrong. */
const RULES_MAX = 24

test.run()
