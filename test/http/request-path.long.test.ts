import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { handOver } from '../support/hand-over.ts'
import { callChains } from '../support/module-calls.ts'
import { testEdge } from '../support/test-edge.ts'

const test = suite('http: the path of a request, call by call')

test('on the way of a handoff no module calls back into one that called it, but for those that run what they are passed', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  await handOver(edge, 'the first')
  let note = 0
  const chains = await callChains(() => handOver(edge, `another ${note++}`))
  const ways = [...chains].map((chain) => chain.split(' > ').filter((file) => !RUN_WHAT_THEY_ARE_PASSED.includes(file)))
  const isDeep = (files: readonly string[]): boolean => files.includes('src/ledger/write/decide') && files.length > 5
  assert.ok(ways.some(isDeep), `the stacks must see the way:\n${[...chains].join('\n')}`)
  const turning = ways.map((files) => files.filter((file, at) => file !== files[at - 1])).filter(hasTwice)
  assert.equal([...new Set(turning.map((files) => files.join(' > ')))], [])
})

const hasTwice = (files: readonly string[]): boolean => new Set(files).size < files.length

/** A table of functions by the type of an event; the steps of work that pauses; the account of time that work took. */
const RUN_WHAT_THEY_ARE_PASSED = ['projections/fold-table', 'src/domain/yielding', 'src/resources/write-turns']

test.run()
