import { randomInt } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Checkpoint } from '../../src/merkle/checkpoint.ts'
import { leafHash, nodeHash, sameHash } from '../../src/merkle/hashes.ts'
import { judgeHistory, type ProvingLog } from '../../src/verify/one-history.ts'

const test = suite('two kept checkpoints')

/** RFC 6962 section 2.1, word for word: the root of leaves. */
function rootOf(leaves: readonly string[]): Uint8Array {
  const [first = ''] = leaves
  if (leaves.length === 1) return leafHash(first)
  let width = 1
  while (width * 2 < leaves.length) width *= 2
  return nodeHash(rootOf(leaves.slice(0, width)), rootOf(leaves.slice(width)))
}

const ORIGIN = 'example.com/acme'
const checkpointOf = (leaves: readonly string[], size = leaves.length): Checkpoint => ({
  origin: ORIGIN,
  size,
  root: rootOf(leaves.slice(0, size)),
  extensions: [],
})

/** A log of these leaves, which has signed all of them. */
const logOf = (leaves: readonly string[], last = checkpointOf(leaves)): ProvingLog => ({
  rootWithin: async ({ size, root }, within) =>
    size <= leaves.length && sameHash(rootOf(leaves.slice(0, size)), root)
      ? rootOf(leaves.slice(0, within))
      : undefined,
  last: async () => last,
})

const NO_LOG: ProvingLog = { rootWithin: async () => undefined, last: async () => undefined }

const leavesOf = (count: number, name = 'leaf'): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${name} ${index}`)

test('two checkpoints of one history are VERIFIED, in either order, of all sizes (HTTP-81)', async () => {
  const leaves = leavesOf(12)
  for (let old = 1; old <= leaves.length; old += 1) {
    for (let next = old; next <= leaves.length; next += 1) {
      const kept = [checkpointOf(leaves, old), checkpointOf(leaves, next)] as const
      assert.is((await judgeHistory(kept[0], kept[1], logOf(leaves))).verdict, 'VERIFIED', `${old} ${next}`)
      assert.is((await judgeHistory(kept[1], kept[0], logOf(leaves))).verdict, 'VERIFIED', `${next} ${old}`)
    }
  }
})

test('two of one size need no log: the same text, or a fork (HTTP-81, A451)', async () => {
  const [one, other] = [checkpointOf(leavesOf(4)), checkpointOf(leavesOf(4, 'other'))]
  assert.is((await judgeHistory(one, one, NO_LOG)).verdict, 'VERIFIED')
  assert.is((await judgeHistory(one, other, NO_LOG)).verdict, 'TAMPERED')
  assert.is((await judgeHistory(one, { ...one, extensions: ['another line'] }, NO_LOG)).verdict, 'TAMPERED')
  assert.is((await judgeHistory(one, { ...one, origin: 'example.com/beta' }, NO_LOG)).verdict, 'UNVERIFIABLE')
})

test('a fork is TAMPERED whichever of the two the log continues, of powers of two and other sizes; what no signed root proves is UNVERIFIABLE (A451)', async () => {
  const leaves = leavesOf(12)
  const at = randomInt(leaves.length)
  const forked = leaves.map((leaf, index) => (index === at ? `${leaf}, another` : leaf))
  for (let old = 1; old <= leaves.length; old += 1) {
    for (let next = old + 1; next <= leaves.length; next += 1) {
      const what = `forked at ${at}: ${old} ${next}`
      const [older, newer] = [checkpointOf(forked, old), checkpointOf(leaves, next)]
      const differs = old > at
      assert.is((await judgeHistory(older, newer, logOf(leaves))).verdict, differs ? 'TAMPERED' : 'VERIFIED', what)
      // The log goes on with the history of the older one.
      const expected = differs || next > at ? 'TAMPERED' : 'VERIFIED'
      assert.is((await judgeHistory(older, newer, logOf(forked))).verdict, expected, what)
      assert.is((await judgeHistory(older, newer, NO_LOG)).verdict, 'UNVERIFIABLE', what)
    }
  }
})

test('a log that is behind a kept checkpoint proves nothing, and says so', async () => {
  const leaves = leavesOf(9)
  const { verdict, message } = await judgeHistory(
    checkpointOf(leaves, 5),
    checkpointOf(leaves),
    logOf(leaves.slice(0, 7)),
  )
  assert.is(verdict, 'UNVERIFIABLE')
  assert.match(message, /covers 7 events/)
})

test.run()
