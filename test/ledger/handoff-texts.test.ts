import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isEqual, type Json, type JsonObject } from '../../schemas/json.ts'
import { runStream } from '../../schemas/names.ts'
import { CanonicalTexts, canonicalJson, MemberTexts } from '../../src/signing/canonical-json.ts'
import { jsonDigest } from '../../src/signing/digests.ts'
import { alice, testLedger } from '../support/test-ledger.ts'

const test = suite('texts of handoffs')

const keys = fc.constantFrom('entities', 'facts', 'notes', 'b', 'a')
const { part } = fc.letrec<{ part: Json }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.constantFrom<Json>(0, 1.5, 'x', 'é "y"\n', null),
    fc.array(tie('part'), { maxLength: 3 }),
    fc.array(fc.tuple(keys, tie('part')), { maxLength: 3 }).map((entries) => Object.fromEntries(entries) as JsonObject),
  ),
}))
const payloads = fc.array(
  fc.array(fc.tuple(keys, part), { maxLength: 4 }).map((entries) => Object.fromEntries(entries) as JsonObject),
  { minLength: 2, maxLength: 6 },
)
const mode = fc.constantFrom('replace' as const, 'merge' as const, 'extend' as const)

test('what is sealed of a handoff is its own canonical text, whatever of it stood in the context before', async () => {
  await using opened = await testLedger()
  let runs = 0
  await fc.assert(
    fc.asyncProperty(payloads, mode, async (posted, last) => {
      const id = `r${runs++}`
      await opened.run(id, { kind: 'start', body: { id, name: id } })
      for (const [i, payload] of posted.entries()) {
        const body = { agent: 'a', payload, mode: i === posted.length - 1 ? last : ('replace' as const) }
        const idempotency = { key: `${i}`, method: 'POST', path: '/', body: body as unknown as JsonObject }
        await opened.run(id, { kind: 'envelope', body }, { idempotency })
      }
      let seen = 0
      for await (const page of opened.store.readStream(runStream(alice.tenant, id))) {
        for (const { data } of page) {
          const event = JSON.parse(data) as JsonObject
          assert.is(data, canonicalJson(event))
          if (event.payload === undefined) continue
          assert.ok(isEqual(event.payload, posted[seen] as Json), `payload ${seen} is not what was posted`)
          const isComplete = event.v === 2 && event.mode === 'replace'
          if (isComplete) assert.is(event.context, jsonDigest(event.payload))
          seen += 1
        }
      }
      assert.is(seen, posted.length)
    }),
    { numRuns: 40 },
  )
})

test('the text of a member that is known is taken and not written again; long ones are not remembered', () => {
  const facts = { b: 1, a: ['x'] }
  const first = new CanonicalTexts()
  assert.is(first.textOf({ n: 1, facts }), '{"facts":{"a":["x"],"b":1},"n":1}')
  const known = first.membersOf({ n: 2, facts, unwritten: {} })
  assert.is(known?.get(facts), '{"a":["x"],"b":1}')
  assert.ok((known?.bytes ?? 0) > 17)

  const members = new MemberTexts()
  members.add(facts, '"as it is known"')
  const marked = new CanonicalTexts(members)
  assert.is(marked.textOf({ n: 3, facts }), '{"facts":"as it is known","n":3}')

  const long = { text: ['x'.repeat(70_000)] }
  const texts = new CanonicalTexts()
  texts.textOf(long)
  assert.is(texts.membersOf(long), undefined)
})

test('texts of members follow the context: what it lacks is let go, also after one that was not written here', () => {
  const [facts, notes, other] = [{ a: 1 }, { b: 2 }, { c: 3 }]
  const members = new CanonicalTexts()
  members.textOf({ facts, notes })
  const first = members.membersOf({ facts, notes, n: 1 })
  const next = new CanonicalTexts(first)
  next.textOf({ facts, other })
  const second = next.membersOf({ facts, other, n: 2 }, first)
  assert.equal([second?.get(facts), second?.get(notes), second?.get(other)], ['{"a":1}', undefined, '{"c":3}'])
  const alone = new CanonicalTexts()
  alone.textOf({ facts, other })
  assert.is(second?.bytes, alone.membersOf({ facts, other })?.bytes)

  const third = new CanonicalTexts(second).membersOf({ unwritten: { d: 4 } }, second)
  assert.equal([third?.get(facts), third?.get(other), third?.bytes], [undefined, undefined, 0])
})

test.run()
