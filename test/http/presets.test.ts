import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../schemas/json.ts'
import { PRESETS } from '../../schemas/presets.ts'
import { PRESET_NAMES } from '../../schemas/value-forms.ts'
import { FRAMEWORKS } from '../domain/validator/judgement/bookkeeping/frameworks.ts'
import { STEPS } from '../domain/validator/judgement/bookkeeping/steps.ts'
import { testEdge } from '../support/test-edge.ts'

const test = suite('presets over HTTP')

function spoilt(context: JsonObject, [path, value]: readonly [string, Json]): JsonObject {
  const copy = structuredClone(context) as JsonObject
  const keys = path
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/'))
  let holder = copy as unknown as Record<string, Json>
  for (const key of keys.slice(0, -1)) holder = holder[key] as unknown as Record<string, Json>
  holder[keys.at(-1) ?? ''] = value
  return copy
}

test('a client that posts JSON names its framework in the policy: 25 steps are accepted without a finding, and after each one a spoilt leaf is refused (JUD-70)', async () => {
  await using edge = await testEdge()
  for (const { name, given, books, spoilt: places } of FRAMEWORKS) {
    const policy = { suspect: 'refuse', ungrounded: 'off', preset: [name] }
    await edge.started(name, { policy })
    const page = (await (await edge.get(`/v1/runs/${name}/events`)).json()) as {
      items: { data: { policy?: JsonObject } }[]
    }
    assert.equal(page.items[0]?.data.policy?.moves, PRESETS[name])
    for (let step = 1; step <= STEPS; step++) {
      const payload = { ...given, ...books(step) }
      const answer = await edge.post(`/v1/runs/${name}/envelopes`, { agent: 'graph', payload })
      const body = (await answer.json()) as { findings?: unknown }
      assert.equal([answer.status, body.findings ?? []], [201, []], `${name} ${step} ${JSON.stringify(body)}`)
      const place = places[step % places.length] ?? assert.unreachable()
      const twin = spoilt({ ...given, ...books(step + 1) }, place as readonly [string, Json])
      const refused = await edge.post(`/v1/runs/${name}/envelopes`, { agent: 'graph', payload: twin })
      assert.is(refused.status, 409, `${name} ${step} ${JSON.stringify(place)}`)
    }
    assert.is((await edge.get(`/v1/runs/${name}/replay`)).status, 200)
  }
})

test('an unknown preset is 400 with its place and the known ones, and starts nothing (JUD-70)', async () => {
  await using edge = await testEdge()
  const answer = await edge.post('/v1/runs', { id: 'r', name: 'r', policy: { preset: ['langchain'] } })
  const body = (await answer.json()) as { code: string; pointer: string; detail: string }
  assert.equal([answer.status, body.code, body.pointer], [400, 'policy-invalid', '/policy/preset/0'])
  assert.match(body.detail, PRESET_NAMES.join(', '))
  assert.is((await edge.get('/v1/runs/r')).status, 404)
})

test.run()
