import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { ContextView } from '../../../src/agent/pipeline/context-view.ts'
import type { HandoffFact } from '../../../src/agent/pipeline/recorded-handoffs.ts'
import { readable, type SliceRequest, type Slicer, sliceOf } from '../../../src/agent/pipeline/slice.ts'
import { byRecency } from '../../../src/agent/pipeline/slicers/recency.ts'
import { byRelevance } from '../../../src/agent/pipeline/slicers/relevance.ts'
import { byStructure } from '../../../src/agent/pipeline/slicers/structure.ts'
import { bytesCounter, tokenCounter } from '../../../src/agent/pipeline/token-counter.ts'
import { codeOf, rejection } from '../homes.ts'

const slices = suite('slices of a context')

const counter = bytesCounter()

async function shown(slicer: Slicer, context: JsonObject, more: Partial<SliceRequest> = {}): Promise<string[]> {
  const request = { recency: Object.keys(context), task: undefined, agent: 'a', maxTokens: undefined, ...more }
  const { slice, report } = await sliceOf(context, { slicer, request, counter })
  assert.equal(Object.keys(slice), report.keys)
  return [...report.keys]
}

/** Handoffs as the record tells them. */
function viewOf(...steps: readonly ({ payload: JsonObject; mode: string } | { toStep: number })[]): ContextView {
  const facts = steps.map((step, i): HandoffFact => {
    const at = { index: i + 1, scope: undefined, occurrence: undefined }
    if ('toStep' in step) return { ...at, kind: 'rewound', body: step } as unknown as HandoffFact
    return { ...at, kind: 'accepted', body: { ...step, step: i + 1, context: `${i + 1}` } } as unknown as HandoffFact
  })
  const view = new ContextView({
    policy: { criticalKeys: ['entities'] },
    facts,
    refusals: [],
    manifests: new Map(),
    judged: new Set(),
  })
  view.passed(Number.POSITIVE_INFINITY)
  return view
}
const grow = (payload: JsonObject) => ({ payload, mode: 'extend' })

slices('latest changed keys come first, those of one step by name; what is only repeated has not changed', () => {
  const view = viewOf(grow({ b: 1, a: 1, c: 1 }), grow({ c: 1, entities: ['x'] }), grow({ a: 2, entities: ['x'] }))
  assert.equal(view.recency(), ['a', 'entities', 'b', 'c'])
  assert.equal(viewOf(grow({ a: 1 }), grow({ b: 1 }), grow({ a: 2 }), { toStep: 2 }).recency(), ['b', 'a'])
  const merged = viewOf(grow({ a: 1, b: 1 }), { payload: { a: null, c: 1 }, mode: 'merge' })
  assert.equal([merged.recency(), merged.now().context], [['c', 'b'], { b: 1, c: 1 }])
})

slices('a named key that is not there is an error that names it and what there is', async () => {
  const context = readable({ plan: 1, budget: 2, secret: 3 }, ['plan', 'budget', 'absent'])
  assert.equal(await shown(byStructure(['budget', 'plan']), context), ['budget', 'plan'])
  const error = await rejection(shown(byStructure(['plan', 'secret', 'goal']), context))
  assert.is(codeOf(error), 'missing-key')
  assert.match(String(error), /secret, goal.*budget, plan/)
})

slices('the nearest by words come first, then what has none of them, latest changed first', async () => {
  const context = {
    weather: 'rain in Oslo',
    revenue: { apple: 'grew 5%', note: 'Apple revenue' },
    people: ['Tim'],
    apple: 'a fruit and a company',
  }
  const ranked = await shown(byRelevance({ query: 'apple revenue' }), context)
  assert.equal(ranked, ['revenue', 'apple', 'weather', 'people'])
  assert.equal(await shown(byRelevance(), context, { task: 'Oslo weather' }).then((keys) => keys[0]), 'weather')
  assert.is(codeOf(await rejection(shown(byRelevance(), context))), 'missing-query')
})

slices(
  'with an embedder the nearest vectors come first; ties latest changed first; bad vectors are an error',
  async () => {
    const vectors: Readonly<Record<string, readonly number[]>> = {
      q: [1, 0],
      far: [0, 1],
      near: [2, 0.1],
      tie: [4, 0.2],
      none: [0, 0],
    }
    const embed = async (texts: readonly string[]) => texts.map((text) => vectors[text.split(' ')[0] ?? ''] ?? [])
    const context = { far: 1, none: 1, tie: 1, near: 1 }
    assert.equal(await shown(byRelevance({ query: 'q', embed }), context), ['tie', 'near', 'far', 'none'])
    for (const bad of [
      [[1, 0]],
      [[1, 0], [1], [1], [1], [1]],
      [
        [1, 0],
        [Number.NaN, 1],
        [1, 1],
        [1, 1],
        [1, 1],
      ],
    ]) {
      const error = await rejection(shown(byRelevance({ query: 'q', embed: async () => bad }), context))
      assert.is(codeOf(error), 'invalid-embedding')
    }
  },
)

slices('a function of one’s own gives keys, or an object of its own making; anything else is an error', async () => {
  const context = { a: 1, b: 2 }
  assert.equal(await shown(() => ['b', 'b'], context), ['b'])
  const made = await sliceOf(context, {
    slicer: (all) => ({ sum: Number(all.a) + Number(all.b) }),
    request: { recency: [], task: undefined, agent: 'a', maxTokens: undefined },
    counter,
  })
  assert.equal([made.slice, made.report.omitted], [{ sum: 3 }, ['a', 'b']])
  assert.is(codeOf(await rejection(shown((() => 'a') as never, context))), 'invalid-slice')
})

const json = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>
const contexts = fc.dictionary(
  fc.string({ maxLength: 8 }).filter((key) => key !== '__proto__'),
  json,
  { maxKeys: 12 },
)
const counters = [bytesCounter(), { name: 'odd', count: (text: string) => (text.length * 7919) % 101 }] as const

slices(
  'packed, no slice is over its limit, whatever counts; where all of it fits, all is shown; the same again',
  async () => {
    await fc.assert(
      fc.asyncProperty(contexts, fc.nat(120), fc.constantFrom(...counters), async (context, maxTokens, by) => {
        const request = { recency: Object.keys(context).sort(), task: 'a b', agent: 'a', maxTokens }
        for (const slicer of [byRecency(), byStructure(Object.keys(context)), byRelevance()]) {
          const one = await sliceOf(context, { slicer, request, counter: by })
          assert.ok(one.report.tokens <= maxTokens)
          const keys = new Set([...one.report.keys, ...one.report.omitted])
          assert.equal([...keys].sort(), Object.keys(context).sort())
          for (const key of one.report.keys) assert.equal(one.slice[key], context[key])
          if (by.count(JSON.stringify(context)) <= maxTokens) assert.equal(one.report.omitted, [])
          assert.equal(await sliceOf(context, { slicer, request, counter: by }), one)
        }
      }),
      { numRuns: 100 },
    )
  },
)

slices(
  'tokens are counted by gpt-tokenizer, control tokens as text, long runs in time; or by a counter of one’s own',
  async () => {
    const { name, count } = await tokenCounter()()
    assert.is(name, 'gpt-tokenizer o200k_base')
    assert.is(count('hello world'), 2)
    assert.ok(count('<|endoftext|>') > 1)
    // Without the cuts this alone takes minutes.
    assert.ok(count('a'.repeat(300_000)) >= 300_000 / 16)
    assert.ok(count('😀'.repeat(2_000)) > 0 && count('\ud800') > 0 && count('') === 0)
    const own = await tokenCounter((text) => text.length)()
    assert.equal([own.name, own.count('four')], ['custom', 4])
    for (const bad of [Number.NaN, -1, 0.5, '3' as never]) {
      const broken = await tokenCounter(() => bad)()
      assert.throws(
        () => broken.count('x'),
        (error: Error) => codeOf(error) === 'invalid-token-count',
      )
    }
    assert.equal([bytesCounter().name, bytesCounter().count('12345')], ['UTF-8 bytes / 4', 2])
  },
)

slices.run()
