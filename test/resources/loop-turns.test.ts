import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { batchDigest } from '../../src/http/batch-digest.ts'
import { LoopTurns } from '../../src/resources/loop-turns.ts'
import { WorkQueue } from '../../src/resources/work-queue.ts'
import { jsonDigest } from '../../src/signing/digests.ts'
import type { Append } from '../../src/store/event-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { drive, ok } from '../support/run-driver.ts'
import { bodyOf, testEdge } from '../support/test-edge.ts'
import { alice, testLedger } from '../support/test-ledger.ts'
import { wrapStore } from '../support/wrap-store.ts'

const KIB = 1024
const turns = suite('turns of the event loop')

/** Counts turns until it is stopped. */
function turnCount(): { readonly now: () => number; readonly stop: () => void } {
  let [turn, on] = [0, true]
  const next = (): void => {
    turn += 1
    if (on) setImmediate(next)
  }
  setImmediate(next)
  return {
    now: () => turn,
    stop: () => {
      on = false
    },
  }
}

/** An edge whose store says in which turn each append of a handoff came. */
async function countedEdge() {
  const count = turnCount()
  const handed: { readonly turn: number; readonly stream: string }[] = []
  const inner = openMemoryStore()
  const append = (each: Append) => {
    if (each.records[0]?.type === 'EnvelopeAccepted') handed.push({ turn: count.now(), stream: each.stream })
    return inner.append(each)
  }
  const edge = await testEdge({ store: wrapStore(inner, { append }), work: new WorkQueue() })
  return { edge, handed, count }
}

const prose = (kib: number): JsonObject => ({ facts: { about: 'window, no stop. '.repeat((kib * KIB) / 17) } })
const envelope = (run: string, kib: number) => ({ op: 'envelope', run, body: { agent: 'a', payload: prose(kib) } })

turns('a turn takes on 64 KiB or one piece alone, in the order in which they came (F40)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 200 * KIB }), { maxLength: 40 }), async (sizes) => {
      const soon: (() => void)[] = []
      const loop = new LoopTurns((call) => soon.push(call))
      const done: number[] = []
      let inTurn: number[] = []
      const all = sizes.map(async (bytes, index) => {
        const turn = loop.pass(bytes)
        if (turn !== undefined) await turn
        inTurn.push(bytes)
        if (bytes >= 8 * KIB) done.push(index)
      })
      for (;;) {
        await new Promise((resolve) => setImmediate(resolve))
        const large = inTurn.filter((bytes) => bytes >= 8 * KIB)
        assert.ok(large.length <= 1 || large.reduce((sum, bytes) => sum + bytes, 0) <= 64 * KIB, `${large}`)
        inTurn = []
        const next = soon.shift()
        if (next === undefined) break
        next()
      }
      await Promise.all(all)
      assert.equal(
        done,
        [...done].sort((a, b) => a - b),
      )
    }),
    { numRuns: 50 },
  )
})

turns(
  'the large items of a batch are decided in turns of their own, and others are answered between them (F40)',
  async () => {
    const { edge, handed, count } = await countedEdge()
    await using _ = edge
    for (const run of ['r', 's', 'small']) await edge.started(run)
    const items = Array.from({ length: 16 }, (_, i) => envelope(i % 2 === 0 ? 'r' : 's', 100))
    let answered = 0
    let over = false
    const batch = edge.post('/v1/batch', { items }).finally(() => {
      over = true
      count.stop()
    })
    const others = (async () => {
      while (!over) {
        assert.is((await edge.get('/v1/runs/small')).status, 200)
        if (handed.length > 0 && handed.length < items.length) answered += 1
        // Answers from memory come in the same turn.
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    const { items: outcomes } = await bodyOf(await batch)
    await others
    assert.equal([...new Set(outcomes.map(({ status }) => status))], [201])
    assert.is(new Set(handed.map(({ turn }) => turn)).size, items.length, 'no two in one turn')
    assert.ok(answered > 0, 'requests are answered between the first item and the last')
  },
)

turns(
  'large handoffs that come at once are decided one a turn, and none in the turn in which another is parsed (F40)',
  async () => {
    const { edge, handed, count } = await countedEdge()
    await using _ = edge
    const runs = Array.from({ length: 6 }, (_, i) => `r${i}`)
    for (const run of runs) await edge.started(run)
    const { body } = envelope('', 300)
    const answers = await Promise.all(runs.map((run) => edge.post(`/v1/runs/${run}/envelopes`, body)))
    count.stop()
    assert.equal([...new Set(answers.map(({ status }) => status))], [201])
    const at = handed.map(({ turn }) => turn).sort((a, b) => a - b)
    assert.is(new Set(at).size, runs.length)
    // Six turns were for parsing: the first to decide cannot come sooner.
    assert.ok((at[0] ?? 0) >= runs.length, `${at}`)
  },
)

turns("a batch's digest is the digest of its body, whatever turns it took", async () => {
  const items = [envelope('r', 100), envelope('é\u2028', 1), { b: [1, 'x'], a: { d: null, c: 1e21 } }]
  assert.is(await batchDigest(items, new LoopTurns()), jsonDigest({ items }))
  assert.is(await batchDigest([], new LoopTurns()), jsonDigest({ items: [] }))
})

turns(
  'results of tools are indexed one a turn before a handoff is judged by them, and large events of a run that is loaded fold in turns of their own (F80)',
  async () => {
    const work = new WorkQueue()
    const asked: number[] = []
    const pass = work.turns.pass.bind(work.turns)
    work.turns.pass = (bytes) => {
      asked.push(bytes)
      return pass(bytes)
    }
    const results = [0, 1, 2].map((n) =>
      Array.from({ length: 600 }, (_, i) => ({ id: `r${n}-${i}`, price: i * 7 + n })),
    )
    await using test = await testLedger({ work })
    const run = drive(test, 'r')
    await run.start()
    for (const result of results) {
      const callId = await run.claimed('read', { args: { id: result[0]?.id ?? '' } })
      ok(await run.settle(callId, { fence: 1, result }))
    }
    const count = turnCount()
    asked.length = 0
    const before = count.now()
    ok(await run.hand('a', { facts: results[0] ?? [] }))
    const large = asked.filter((bytes) => bytes >= 64 * KIB)
    assert.ok(large.length >= results.length + 1, `each of the results, and the judgement: ${asked.join(' ')}`)
    assert.ok(count.now() - before >= results.length, `${count.now() - before} turns`)
    const sibling = await test.sibling()
    asked.length = 0
    assert.ok((await sibling.run(alice, 'r')).ok)
    assert.ok(asked.filter((chars) => chars >= 16 * KIB).length >= results.length, `cold: ${asked.join(' ')}`)
    await sibling[Symbol.asyncDispose]()
    count.stop()
  },
)

turns.run()
