import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bodyOf, testEdge } from '../support/test-edge.ts'

const test = suite('times in requests')

/** Not one of them has a year of four digits in UTC; RFC 3339 knows only such years. */
const FAR = [
  '9999-12-31T23:59:59-01:00',
  '+010000-01-01T00:00:00Z',
  '12026-01-31T12:00:00Z',
  '0000-01-01T00:00:00+01:00',
]

test('a time that is not of the years 0 to 9999 in UTC is refused in each query and body, with the reason (HTTP-100)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const queries = [
    '/v1/runs',
    '/v1/audit/events',
    '/v1/audit/spend',
    '/v1/audit/tokens',
    '/v1/export',
    '/v1/bundle',
    '/v1/answers/events',
  ]
  for (const time of FAR) {
    const asked = await Promise.all([
      ...queries.flatMap((path) =>
        ['since', 'until'].map((name) => edge.get(`${path}?${name}=${encodeURIComponent(time)}`)),
      ),
      edge.post('/v1/runs', { id: 'later', name: 'n', after: time }),
      edge.post('/v1/runs/r/waits', {
        place: 'p',
        waitId: '0190f0f0-0000-7000-8000-000000000000',
        name: 's',
        until: time,
      }),
    ])
    for (const answer of asked) {
      const { code, errors = [], detail, instance } = await bodyOf(answer)
      const said = `${instance} ${time}: ${code} ${detail} ${JSON.stringify(errors)}`
      assert.ok([400, 422].includes(answer.status), said)
      assert.match(said, /years 0 to 9999 in UTC/)
    }
  }
  const last = await edge.get('/v1/runs?until=9999-12-31T23:59:59Z')
  assert.is(last.status, 200)
})

test.run()
