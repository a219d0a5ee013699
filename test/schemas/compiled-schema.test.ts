import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { compileSchema, isOfSchema } from '../../schemas/compiled-schema.ts'
import { EVENTS, type EventType } from '../../schemas/events.ts'
import { isJsonObject, type Json } from '../../schemas/json.ts'
import { storeOfEveryEvent } from '../support/every-event.ts'
import { collect } from '../support/records.ts'
import { rounds } from '../support/rounds.ts'

const test = suite('compiled schemas')

/** Their rules say why they refuse, in code of their own, or their formats are more than a pattern: zod decides. */
const LEFT_TO_ZOD = ['RunStarted', 'ManifestRegistered', 'TokenIssued', 'CheckpointTimestamped', 'SubjectErased']

interface Example {
  readonly type: EventType
  readonly body: Json
}

async function examplesOfEveryType(): Promise<readonly Example[]> {
  await using store = await storeOfEveryEvent()
  const records = await collect(store.readAll())
  return records.map(({ header, data }) => ({
    type: JSON.parse(header).type as EventType,
    body: JSON.parse(data) as Json,
  }))
}

const texts = [
  '',
  ' ',
  'x',
  'x'.repeat(64),
  'x'.repeat(300),
  'x'.repeat(5000),
  'accept',
  'USD',
  '1.5',
  '-1',
  '00',
  '__proto__',
]
const forms = [
  `sha256:${'0'.repeat(64)}`,
  `sha256:${'0'.repeat(63)}G`,
  `sha256:${'0'.repeat(65)}`,
  `sha256:${'0'.repeat(64)}\n`,
  '01a20610-1e77-7358-a396-f1993ec57bfc',
  '01A20610-1E77-7358-A396-F1993EC57BFC',
  '2026-01-02T03:04:05.678Z',
]
const numbers = [0, -1, 1, 2, 3, 1.5, 1e21, 2 ** 53, -(2 ** 53), Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY]
const others: readonly Json[] = [null, true, false, [], {}, [null], { x: 1 }, ...texts, ...forms, ...numbers]

/** The same value with one part of it changed, taken away, doubled or put elsewhere. */
function changed(value: Json, choice: () => number): Json {
  const other = () => others[choice() % others.length] as Json
  if (typeof value !== 'object' || value === null) return other()
  const pick = choice()
  if (Array.isArray(value)) {
    const at = choice() % (value.length + 1)
    if (pick % 8 === 0) return [...value, other()]
    if (pick % 8 === 1) return value.length === 0 ? other() : value.flatMap((each) => Array(40).fill(each))
    return value.map((each: Json, i) => (i === at ? changed(each, choice) : each))
  }
  if (pick % 16 === 0) return other()
  const members = Object.entries(value)
  const at = choice() % (members.length + 1)
  if (pick % 16 < 3) return Object.fromEntries(members.filter((_, i) => i !== at))
  if (pick % 16 < 5 || members.length === 0) return { ...value, [texts[pick % texts.length] ?? 'x']: other() }
  return Object.fromEntries(members.map(([name, each], i) => [name, i === at ? changed(each, choice) : each]))
}

test('bodies of every type but a few are judged by compiled schemas, and every body that the ledger makes is accepted (A226)', async () => {
  const types = Object.keys(EVENTS) as EventType[]
  assert.equal(
    types.filter((type) => compileSchema(EVENTS[type].schema) === undefined),
    LEFT_TO_ZOD,
  )
  const examples = await examplesOfEveryType()
  for (const { type, body } of examples) {
    const accepts = compileSchema(EVENTS[type].schema)
    assert.ok(accepts === undefined || accepts(body), type)
  }
  assert.equal(new Set(examples.map(({ type }) => type)).size, types.length, 'every type has an example')
})

test('a compiled schema accepts and refuses what zod does, of any body of any type, changed anywhere (A226)', async () => {
  const examples = await examplesOfEveryType()
  const verdicts = { accepted: 0, refused: 0 }
  const choices = fc.array(fc.nat(), { minLength: 64, maxLength: 64 })
  fc.assert(
    fc.property(
      fc.constantFrom(...examples),
      choices,
      fc.integer({ min: 1, max: 3 }),
      ({ type, body }, picks, times) => {
        let [at, value] = [0, body]
        const choice = () => picks[at++ % picks.length] as number
        for (let i = 0; i < times; i += 1) value = changed(value, choice)
        const { schema } = EVENTS[type]
        const expected = schema.safeParse(value).success
        verdicts[expected ? 'accepted' : 'refused'] += 1
        const accepts = compileSchema(schema)
        if (accepts !== undefined) assert.is(accepts(value), expected, `${type} ${JSON.stringify(value).slice(0, 300)}`)
        assert.is(isOfSchema(schema, value), expected)
      },
    ),
    { numRuns: rounds(2_500, 6_000) },
  )
  assert.ok(verdicts.accepted > 200 && verdicts.refused > 200, JSON.stringify(verdicts))
})

test('a record is judged as zod judges it, whatever its members are called', () => {
  const schema = z.strictObject({ names: z.record(z.string().max(9), z.string()) })
  const accepts = compileSchema(schema)
  for (const names of ['{}', '{"a":"b"}', '{"a":1}', '{"__proto__":"b"}', '{"__proto__":1}', '{"constructor":1}']) {
    const value: unknown = { names: JSON.parse(names) }
    assert.is(accepts?.(value), schema.safeParse(value).success, names)
  }
})

test('no value that is not an object is a body', () => {
  for (const type of Object.keys(EVENTS) as EventType[])
    for (const value of others.filter((other) => !isJsonObject(other) || Object.keys(other).length === 0))
      assert.not(isOfSchema(EVENTS[type].schema, value), type)
})

test.run()
