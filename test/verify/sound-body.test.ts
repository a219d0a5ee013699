import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { knowsBody } from '../../projections/body-versions.ts'
import { isOfSchema } from '../../schemas/compiled-schema.ts'
import { EVENTS, type EventType } from '../../schemas/events.ts'
import { SALT_BYTES } from '../../schemas/header.ts'
import { isJsonObject, type Json, type JsonObject, parseJsonOrUndefined } from '../../schemas/json.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { isCanonicalJson } from '../../src/signing/canonical-scan.ts'
import { BODY_MAX_DEPTH } from '../../src/signing/check.ts'
import { freeMembers, isSoundBody } from '../../src/verify/sound-body.ts'
import type { PlacedRecord } from '../../src/verify/source-item.ts'
import { storeOfEveryEvent } from '../support/every-event.ts'
import { pick, seededRandom, testSeed } from '../support/random.ts'
import { collect } from '../support/records.ts'
import { rounds } from '../support/rounds.ts'

const bodies = suite<{ examples: readonly Example[] }>('verify: bodies that are looked at')

interface Example {
  readonly type: EventType
  readonly body: JsonObject
}

bodies.before(async (context) => {
  await using store = await storeOfEveryEvent()
  const records = await collect(store.readAll())
  context.examples = records.map(({ header, data }) => ({ type: JSON.parse(header).type, body: JSON.parse(data) }))
})

/** As a block of rows holds it. */
function recordOf(data: Buffer): PlacedRecord {
  const block = Buffer.concat([Buffer.alloc(SALT_BYTES), data, Buffer.of(0), Buffer.from('{}')])
  const dataEnd = SALT_BYTES + data.length
  const isAscii = data.every((byte) => byte < 0x80)
  const bytes = { block, data: SALT_BYTES, dataEnd, headerEnd: block.length, isAscii }
  const salt = block.subarray(0, SALT_BYTES)
  return { stream: 'run-acme.one', revision: 0, header: '{}', salt, data: data.toString(), bytes }
}

/** What the one who judges says of it. */
function isRight(type: EventType, text: string): boolean {
  const body = parseJsonOrUndefined(text)
  const isKnown = isJsonObject(body) && knowsBody(type, body.v)
  return isKnown && isCanonicalJson(text, BODY_MAX_DEPTH) && isOfSchema(EVENTS[type].schema, body)
}

const FREE: readonly Json[] = [
  'x'.repeat(100),
  { a: 'x'.repeat(100) },
  [1.5, 'x'.repeat(100)],
  { payload: { v: 9, text: '"payload":{}', more: '\u00e9 \u{1f600}'.repeat(20) } },
  'short',
  null,
  {},
]

bodies(
  'a body without its free members is found sound where the whole of it is, whatever they hold',
  ({ examples }) => {
    let cut = 0
    for (const { type, body } of examples) {
      assert.ok(isSoundBody(type, recordOf(Buffer.from(canonicalJson(body)))), type)
      for (const name of freeMembers(type))
        for (const value of FREE) {
          const text = canonicalJson({ ...body, [name]: value })
          assert.is(isSoundBody(type, recordOf(Buffer.from(text))), isRight(type, text), `${type} ${name} ${text}`)
          cut += 1
        }
    }
    assert.ok(cut > 100, String(cut))
  },
)

bodies('no rule of a schema looks into what the schema leaves free', ({ examples }) => {
  const closed = new Proxy(
    {},
    Object.fromEntries(
      ['get', 'has', 'ownKeys', 'getOwnPropertyDescriptor', 'getPrototypeOf'].map((trap) => [
        trap,
        () => {
          throw new Error(`a rule looks into it: ${trap}`)
        },
      ]),
    ),
  )
  for (const { type, body } of examples)
    for (const name of freeMembers(type).filter((each) => Object.hasOwn(body, each)))
      assert.ok(isOfSchema(EVENTS[type].schema, { ...body, [name]: closed }), `${type} ${name}`)
})

bodies('a byte that is changed anywhere in a body is seen as if all of it were parsed', ({ examples }) => {
  const random = seededRandom(testSeed(286))
  for (let round = 0; round < rounds(2_000, 20_000, 100_000); round += 1) {
    const { type, body } = pick(random, examples)
    const [free] = freeMembers(type)
    const long = free === undefined ? body : { ...body, [free]: { some: ['x'.repeat(60), 1, true], text: 'a"b\\' } }
    const data = Buffer.from(canonicalJson(long))
    const at = Math.floor(random() * data.length)
    data[at] = pick(random, [...Buffer.from('{}[]",:0 \\a')])
    assert.is(isSoundBody(type, recordOf(data)), isRight(type, data.toString()), `${type} ${data}`)
  }
})

bodies.run()
