import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { addToolResult, emptyEvidence } from '../../../../src/domain/validator/evidence.ts'
import { toolQuestion } from '../../../../src/domain/validator/grounding/answers.ts'
import { sinceAfter } from '../../../../src/domain/validator/grounding/established-since.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'

const test = suite('judgement: the next answer to a question')

type Said = readonly [tool: string, args: Json | undefined, result: Json]

interface Case {
  /** In order; what stands at a place was handed over before the last of them. */
  readonly answers: readonly Said[]
  readonly before: JsonObject
  readonly after: JsonObject
}

/** Errors and what was moved; the context was handed over right before the last answer came. */
function judge({ answers, before, after }: Case, establishedAt = 2 * answers.length - 1): readonly string[] {
  const evidence = emptyEvidence(7)
  for (const [i, [tool, args, value]] of answers.entries()) {
    addToolResult(evidence, { value, revision: 2 * (i + 1), asked: toolQuestion(tool, args), bytes: 100 })
  }
  evidence.results.since = sinceAfter(evidence.results.since, [{}, before], establishedAt)
  const { findings } = validateHandoff({ before, after, evidence, policy: resolvePolicy({ suspect: 'refuse' }) })
  return [...new Set(findings.filter(({ severity }) => severity !== 'warning').map(({ rule }) => rule))]
}

const COLD = { celsius: 4, sky: 'clear', wind: 'north' }
const WARM = { celsius: 19, sky: 'rain', wind: 'west' }
const bern = { city: 'Bern' }
const asked = (...results: readonly Json[]): Said[] => results.map((result) => ['get_weather', bern, result])
const weather = (value: Json): JsonObject => ({ trip: { to: 'Bern', weather: value } })

const INNOCENT: { readonly [what: string]: Case } = {
  'an object': { answers: asked(COLD, WARM), before: weather(COLD), after: weather(WARM) },
  'an object that lost a member and gained one': {
    answers: asked(COLD, { celsius: 9, sky: 'snow', alert: 'ice' }),
    before: weather(COLD),
    after: weather({ celsius: 9, sky: 'snow', alert: 'ice' }),
  },
  'one that is written another way': {
    answers: asked(COLD, WARM),
    before: weather({ wind: 'north', sky: ' clear', celsius: 4 }),
    after: weather({ sky: 'rain', wind: 'west', celsius: 19 }),
  },
  'a list whose members came and went': {
    answers: [
      [
        'open_tickets',
        {},
        [
          { id: 'T-1', days: 3 },
          { id: 'T-2', days: 1 },
        ],
      ],
      [
        'open_tickets',
        {},
        [
          { id: 'T-2', days: 2 },
          { id: 'T-3', days: 1 },
        ],
      ],
    ],
    before: {
      queue: [
        { id: 'T-1', days: 3 },
        { id: 'T-2', days: 1 },
      ],
    },
    after: {
      queue: [
        { id: 'T-2', days: 2 },
        { id: 'T-3', days: 1 },
      ],
    },
  },
  'a list or an object inside the answer': {
    answers: [
      ['sensor_readings', {}, { at: '10:00', values: [41, 42, 40] }],
      ['sensor_readings', {}, { at: '10:05', values: [44, 47] }],
    ],
    before: { latest: { values: [41, 42, 40] } },
    after: { latest: { values: [44, 47] } },
  },
  'a question asked again, with its own number and time': {
    answers: [
      ['look_up', { step: 1, now: '2025-01-01T10:00:00Z' }, { waiting: 107, open: 12 }],
      ['look_up', { step: 2, now: '2025-01-01T11:00:00Z' }, { waiting: 114, open: 15 }],
    ],
    before: { last: { waiting: 107, open: 12 } },
    after: { last: { waiting: 114, open: 15 } },
  },
  'a single value under the name of its tool': {
    answers: [
      ['get_fuel_level', undefined, 84],
      ['get_fuel_level', undefined, 61],
    ],
    before: { vehicle: { fuel_level: 84 } },
    after: { vehicle: { fuel_level: 61 } },
  },
  'an error in between, which is no answer': {
    answers: asked(COLD, { error: 'no station answers' }, WARM),
    before: weather(COLD),
    after: weather(WARM),
  },
}

const CONTRADICTING: { readonly [what: string]: Case } = {
  'a value that no answer holds beside those of the next': {
    answers: asked(COLD, WARM),
    before: weather(COLD),
    after: weather({ ...WARM, celsius: 23 }),
  },
  'a part of the next answer alone': {
    answers: asked(COLD, WARM),
    before: weather(COLD),
    after: weather({ ...COLD, celsius: 19 }),
  },
  'the next answer of another tool': {
    answers: [...asked(COLD), ['get_forecast', bern, WARM]],
    before: weather(COLD),
    after: weather(WARM),
  },
  'the answer to another question': {
    answers: [...asked(COLD), ['get_weather', { city: 'Oslo' }, WARM]],
    before: weather(COLD),
    after: weather(WARM),
  },
  'an answer that was followed by another': {
    answers: asked(COLD, WARM, { celsius: 2, sky: 'fog', wind: 'none' }),
    before: weather(COLD),
    after: weather(WARM),
  },
  'an error that took the place of an answer': {
    answers: asked(COLD, { error: 'no station answers', code: 'none' }),
    before: weather(COLD),
    after: weather({ error: 'no station answers', code: 'none' }),
  },
  'something that was never what the tool answered': {
    answers: asked({ ...COLD, celsius: 5 }, WARM),
    before: weather(COLD),
    after: weather(WARM),
  },
  'another thing under the name of the first': {
    answers: [
      ['current_order', undefined, { order: { order_no: 'A-1', total: 40 } }],
      ['current_order', undefined, { order: { order_no: 'B-2', total: 75 } }],
    ],
    before: { checkout: { order: { order_no: 'A-1', total: 40 } } },
    after: { checkout: { order: { order_no: 'B-2', total: 75 } } },
  },
  'a number that a tool happened to answer': {
    answers: [
      ['count_visitors', undefined, 40],
      ['count_visitors', undefined, 55],
    ],
    before: { order: { qty: 40 } },
    after: { order: { qty: 55 } },
  },
  'the place of a question that was answered the same, and now is not': {
    answers: [['get_weather', { city: 'Oslo' }, COLD], ...asked(COLD, WARM)],
    before: { oslo: COLD },
    after: { oslo: WARM },
  },
}

for (const [what, each] of Object.entries(INNOCENT)) {
  test(`kept whole, ${what} gives way to the next answer to the same question (JUD-36)`, () => {
    assert.equal(judge(each), ['moved-by-tool'])
  })
}

for (const [what, each] of Object.entries(CONTRADICTING)) {
  test(`${what} excuses no change (JUD-36)`, () => {
    assert.ok(judge(each).includes('contradicted'), JSON.stringify(judge(each)))
  })
}

test('what was established after the answer came stands against it (JUD-36)', () => {
  assert.equal(judge(INNOCENT['an object'] as Case, 5), ['contradicted'])
})

test('what is immutable stays, whatever is answered', () => {
  const { answers, before, after } = INNOCENT['an object'] as Case
  const evidence = emptyEvidence(7)
  for (const [i, [tool, args, value]] of answers.entries())
    addToolResult(evidence, { value, revision: i, asked: toolQuestion(tool, args), bytes: 100 })
  const policy = resolvePolicy({ immutable: ['/trip/weather/sky'] })
  const { findings } = validateHandoff({ before, after, evidence, policy })
  assert.equal(
    findings.flatMap(({ rule, path, severity }) => (severity === 'error' ? [`${rule} ${path}`] : [])),
    ['immutable /trip/weather/sky'],
  )
})

test.run()
