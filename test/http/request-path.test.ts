import { Session } from 'node:inspector/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type TestEdge, testEdge } from '../support/test-edge.ts'

const test = suite('http: the path of a request')

/** Files of ours in which a function ran meanwhile, as V8 counts them; without those of the store, of which each backend has its own. */
async function filesCrossed(work: () => Promise<unknown>): Promise<readonly string[]> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    await session.post('Profiler.takePreciseCoverage')
    await work()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    return result
      .filter(({ functions }) => functions.some(({ ranges: [whole] }) => (whole?.count ?? 0) > 0))
      .flatMap(({ url }) => /\/dist\/((?:src\/(?!store\/)|schemas\/|projections\/).*)\.js$/.exec(url)?.[1] ?? [])
      .sort()
  } finally {
    session.disconnect()
  }
}

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

const isOfValidator = (file: string): boolean => file.startsWith('src/domain/validator/')

/** May fall and must not rise: whoever reads the way of a handoff reads so many files. */
const WAY_MAX = 57
/** Of the validator: the rules that look at a handoff in which nothing is wrong. */
const RULES_MAX = 24

test.run()
