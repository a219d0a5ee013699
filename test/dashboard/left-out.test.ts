import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('pages: what was left out')

test('over HTTP an answer, and on its page an event, say how many values which rule left out (RUN-94)', async () => {
  await using edge = await testEdge()
  const policy = { redaction: [{ name: 'email', find: ['email'] }] }
  const bad = await edge.post('/v1/runs', { name: 'r', policy: { redaction: [{ name: 'x', pattern: '(?=a)' }] } })
  assert.equal([bad.status, ((await bad.json()) as { code: string }).code], [400, 'policy-invalid'])
  assert.is((await edge.post('/v1/runs', { id: 'r', name: 'r', policy })).status, 201)
  const body = { agent: 'ann', payload: { facts: { a: 'to a@b.example', b: 'c@d.example' } } }
  const answer = await edge.post('/v1/runs/r/envelopes', body)
  const { revision, redacted } = (await answer.json()) as { revision: number; redacted: { counts: object } }
  assert.equal(redacted.counts, { email: 2 })
  const page = await (await signedIn(edge, { subject: 'olga' })).get(`/ui/runs/r/events/${revision}`)
  const text = await page.text()
  assert.match(text.replaceAll(/<[^>]*>/g, ''), '2 values left out by rule email')
  assert.not.match(text, 'b.example')
  const named = await edge.post('/v1/runs', { name: 'a@b.example', policy })
  assert.equal([named.status, ((await named.json()) as { code: string }).code], [422, 'redacted-name'])
})

test.run()
