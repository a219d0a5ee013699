import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../../schemas/json.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'

const test = suite('judgement: values in another shape, under another key or in another unit')

/** `rule path` of each finding, under the default policy. */
function found(before: JsonObject, after: JsonObject): readonly string[] {
  return validateHandoff({ before, after, policy: resolvePolicy() }).findings.map(({ rule, path }) => `${rule} ${path}`)
}

const HIVES = [
  { hive: 'H1', queen: 'blue', frames: 15 },
  { hive: 'H2', queen: 'red', frames: 12 },
]
const BY_HIVE = { H1: { queen: 'blue', frames: 15 }, H2: { queen: 'red', frames: 12 } }
const LOAD = [
  { booking: 'B71', type: 'car', length: 4.6 },
  { booking: 'B72', type: 'lorry', length: 17.2 },
  { booking: 'B73', type: 'car', length: 3.9 },
]
const [CAR, LORRY, SMALL] = LOAD as unknown as readonly [JsonObject, JsonObject, JsonObject]
const PHONE = '+47 555 01 882'

test('a list becomes a map by a text that is distinct in its members, or a map of groups, and the reverse (JUD-90)', () => {
  assert.equal(found({ hives: HIVES }, { hives: BY_HIVE }), [])
  assert.equal(found({ hives: BY_HIVE }, { hives: HIVES }), [])
  assert.equal(found({ load: LOAD }, { load: { car: [CAR, SMALL], lorry: [LORRY] } }), [])
  const swapped = { H1: BY_HIVE.H2, H2: BY_HIVE.H1 }
  assert.equal(found({ hives: HIVES }, { hives: swapped }), ['contradicted /hives'])
  assert.equal(found({ hives: HIVES }, { hives: { ...BY_HIVE, H2: { queen: 'red', frames: 21 } } }), [
    'contradicted /hives',
  ])
  assert.equal(found({ hives: HIVES }, { hives: { H1: BY_HIVE.H1 } }), ['contradicted /hives'])
  const wrong = { car: [CAR, { ...LORRY, length: 12.7 }], lorry: [SMALL] }
  assert.equal(found({ load: LOAD }, { load: wrong }), ['contradicted /load'])
  assert.equal(found({ load: LOAD }, { load: { car: [CAR], lorry: [LORRY] } }), ['contradicted /load'])
})

test('an object stands whole under one other key beside it (JUD-90)', () => {
  const crew = { lead: 'Ines Qvist', board: 'T. Mbeki', phone: PHONE }
  assert.equal(found({ crew, hall: 'Gate' }, { team: { ...crew, phone: '+4755501882' }, hall: 'Gate' }), [])
  assert.equal(found({ crew, hall: 'Gate' }, { team: { ...crew, board: 'T. Okafor' }, hall: 'Gate' }), [
    'contradicted /crew',
    'restated /team/board',
  ])
  const both = { team: crew, staff: crew, hall: 'Gate' }
  assert.equal(found({ crew, hall: 'Gate' }, both), ['contradicted /crew'])
  assert.equal(found({ flags: { a: true, b: 1 }, hall: 'Gate' }, { marks: { a: true, b: 1 }, hall: 'Gate' }), [
    'contradicted /flags',
  ])
})

test('a number changes its unit together with its key, in a list as well (JUD-91)', () => {
  const cues = (cue: JsonObject): JsonObject => ({
    cues: [
      { cue: 'LX1', ...cue },
      { cue: 'LX2', fade_s: 3 },
    ],
  })
  assert.equal(found(cues({ fade_s: 6 }), cues({ fade_ms: 6000 })), [])
  assert.equal(found(cues({ fade_s: 6 }), cues({ fade_ms: 600 })), ['contradicted /cues/0/fade_s'])
  assert.equal(found(cues({ fade_s: 6 }), cues({ delay_ms: 6000 })), ['contradicted /cues/0/fade_s'])
  assert.equal(found({ site: { area_km2: 6, name: 'Vik' } }, { site: { area_ha: 600, name: 'Vik' } }), [])
  assert.equal(found({ site: { area_km2: 6, name: 'Vik' } }, { site: { area_ha: 60, name: 'Vik' } }), [
    'contradicted /site/area_km2',
  ])
})

test('a number may become an object with its unit, but not with another unit (A588, JUD-104)', () => {
  const crate = (crate: JsonObject): JsonObject => ({ crate: { label: 'K-7', ...crate } })
  const from = crate({ weight_kg: 12 })
  assert.equal(found(from, crate({ weight_kg: { value: 12, unit: 'kg' } })), [])
  assert.equal(found(from, crate({ weight_kg: { value: 12000, unit: 'g' } })), [])
  assert.equal(found(from, crate({ weight_kg: { value: 12, unit: 'lb' } })), ['contradicted /crate/weight_kg'])
})

test('a number and its unit at the start of a context are one quantity as well (A589, JUD-7, JUD-49)', () => {
  const [hours, minutes] = [
    { value: 1.5, unit: 'h' },
    { value: 90, unit: 'min' },
  ]
  for (const wrap of [(each: JsonObject) => each, (each: JsonObject) => ({ task: { id: 'T-1', took: each } })]) {
    assert.equal(found(wrap(hours), wrap(minutes)), [])
    assert.ok(found(wrap(hours), wrap({ ...minutes, value: 91 })).length > 0)
  }
})

test('a converted number may be rounded to the digits that it shows, at least three (A587, JUD-104)', () => {
  const flat = (area: JsonObject): JsonObject => ({ flat: { street: 'Lange Gasse', ...area } })
  assert.equal(found(flat({ area_sqft: 1184 }), flat({ area_m2: 110 })), [])
  assert.equal(found(flat({ area_sqft: 1184 }), flat({ area_m2: 109.997 })), [])
  for (const area of [111, 109, 110.1, 118.4])
    assert.equal(found(flat({ area_sqft: 1184 }), flat({ area_m2: area })), ['contradicted /flat/area_sqft'], `${area}`)
  // Two digits say too little.
  assert.equal(found(flat({ road_km: 16 }), flat({ road_mi: 10 })), ['contradicted /flat/road_km'])
  assert.equal(found(flat({ road_km: 16.09 }), flat({ road_mi: 9.998 })), [])
})

test('a boolean may be written as yes or no, not as the code of a country (JUD-92)', () => {
  for (const [a, b] of [
    [true, 'yes'],
    [false, 'No'],
  ] as const)
    assert.equal(found({ lot: { dangerous: a } }, { lot: { dangerous: b } }), [], b)
  for (const [a, b] of [
    [true, 'no'],
    [false, 'yes'],
    [false, 'NO'],
    [false, 'false'],
    ['no', false],
  ] as const)
    assert.equal(found({ lot: { dangerous: a } }, { lot: { dangerous: b } }), ['contradicted /lot/dangerous'], `${b}`)
})

test('a count that was the length of a list beside it and is no more is suspect, although the list has grown (JUD-93)', () => {
  const bids = [{ bidder: 'Kolbe' }, { bidder: 'Nordwall' }]
  const [more, tender] = [[...bids, { bidder: 'Ferro' }], { ref: 'T-118' }]
  assert.equal(found({ tender, bids, bid_count: 2 }, { tender, bids: more, bid_count: 3 }), [])
  assert.equal(found({ tender, bids, bid_count: 2 }, { tender, bids: more, bid_count: 5 }), ['contradicted /bid_count'])
  const priced = [...bids, { bidder: 'Ferro', price: 5 }]
  assert.equal(found({ tender, bids, level: 2 }, { tender, bids: priced, level: 5 }), [])
})

test.run()
