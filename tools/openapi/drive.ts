/** Drives a run with a client that was made of `/openapi.json`: every path, body and answer below is checked by the compiler. */
import createClient from 'openapi-fetch'
import type { paths } from './api.ts'

const { LEDGER_URL = '', LEDGER_TOKEN = '' } = process.env
const api = createClient<paths>({ baseUrl: LEDGER_URL, headers: { Authorization: `Bearer ${LEDGER_TOKEN}` } })
const run = 'by-openapi'
const path = { run }

function part<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (answer.data === undefined) throw new Error(`${answer.response.status}: ${JSON.stringify(answer.error)}`)
  return answer.data
}

const started = part(await api.POST('/v1/runs', { body: { id: run, name: 'openapi', budget: { tokens: 1000 } } }))
console.log('started', started.runId)

const first = part(
  await api.POST('/v1/runs/{run}/envelopes', {
    params: { path },
    body: { agent: 'researcher', payload: { entities: ['Apple'] } },
  }),
)
console.log('accepted', first.step)

const refused = await api.POST('/v1/runs/{run}/envelopes', {
  params: { path },
  body: { agent: 'writer', payload: { summary: 'growth' } },
})
console.log('refused', refused.error?.code)

const claim = part(
  await api.POST('/v1/runs/{run}/calls', { params: { path }, body: { tool: 'charge', args: { cents: 2500 } } }),
)
part(
  await api.POST('/v1/runs/{run}/calls/{call}/settle', {
    params: { path: { run, call: claim.callId } },
    body: { fence: claim.fence, result: { payment: 'p-1' } },
  }),
)
const calls = part(await api.GET('/v1/runs/{run}/calls', { params: { path } }))
console.log('calls', calls.items.map((call) => `${call.tool} ${call.status}`).join())
part(await api.POST('/v1/runs/{run}/complete', { params: { path }, body: { output: { paid: true } } }))
const state = part(await api.GET('/v1/runs/{run}', { params: { path } }))
console.log('ended', state.status)

const missing = await api.GET('/v1/runs/{run}', { params: { path: { run: 'none' } } })
console.log('missing', missing.response.status, missing.error?.code)
