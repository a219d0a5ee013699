/** @module A valid body for every route that takes one, so that a test can walk all routes and meet no other refusal than the one it looks for. */
import type { TestEdge } from './test-edge.ts'

const SOME_ID = '0190f0f0-0000-7000-8000-000000000000'

/** By path of the description; a path that is missing here makes the walk fail. */
export const BODIES: Readonly<Record<string, object>> = {
  '/v1/runs': { name: 'walk' },
  '/v1/runs/{run}/envelopes': { agent: 'a', payload: { note: 'x' } },
  '/v1/runs/{run}/judgements': { step: 1, verdict: 'accept', judge: 'ann' },
  '/v1/runs/{run}/suspects': { suspects: ['1.1'], decision: 'confirmed', reason: 'seen' },
  '/v1/runs/{run}/rollback': { reason: 'because' },
  '/v1/runs/{run}/manifests': { agent: 'a', writes: ['note'] },
  '/v1/runs/{run}/calls': { tool: 't', args: {} },
  '/v1/runs/{run}/captures': {
    gap: { entrance: 'mcp', server: 's', from: '2026-01-01T00:00:00.000Z', to: '2026-01-01T00:00:01.000Z', count: 1 },
  },
  '/v1/runs/{run}/calls/{call}/settle': { fence: 1, result: null },
  '/v1/runs/{run}/calls/{call}/renew': { fence: 1 },
  '/v1/runs/{run}/calls/{call}/resolve': { outcome: 'executed', evidence: 'seen' },
  '/v1/runs/{run}/approvals/{approval}/grant': { argsDigest: `sha256:${'0'.repeat(64)}` },
  '/v1/runs/{run}/approvals/{approval}/withdraw': { argsDigest: `sha256:${'0'.repeat(64)}` },
  '/v1/runs/{run}/approvals/{approval}/deny': { argsDigest: `sha256:${'0'.repeat(64)}` },
  '/v1/runs/{run}/waits': { name: 'go' },
  '/v1/runs/{run}/signals/{signal}': { payload: 'x' },
  '/v1/runs/{run}/compensations': { reason: 'because' },
  '/v1/runs/{run}/reservations': { agent: 'a', tokens: 1 },
  '/v1/runs/{run}/reservations/{reservation}/settle': { usage: { tokens: 1 } },
  '/v1/runs/{run}/reservations/{reservation}/release': {},
  '/v1/runs/{run}/usage': { agent: 'a', usage: { tokens: 1 } },
  '/v1/runs/{run}/forks': { branches: [{ name: 'a', agent: 'a' }], join: 'vote' },
  '/v1/runs/{run}/forks/{fork}/branches': { branch: 'a', output: { note: 'x' } },
  '/v1/runs/{run}/forks/{fork}/join': {},
  '/v1/runs/{run}/leave': { because: 'waiting', runFence: 1 },
  '/v1/runs/{run}/carry': { runFence: 1 },
  '/v1/runs/{run}/complete': {},
  '/v1/runs/{run}/fail': { error: { message: 'broke' } },
  '/v1/runs/{run}/keys/disclose': {},
  '/v1/losses/acknowledge': { stream: 'run-acme.r', revision: 1, reason: 'no copy has it' },
  '/v1/subjects/{subject}/erase': { reason: 'asked', basis: 'GDPR 17' },
  '/v1/reviews': { query: 'refusals', asOf: 1, findings: 'none' },
  '/v1/tokens/revoke': { token: SOME_ID, reason: 'it was in a log' },
  '/v1/holds': { tenant: true, reason: 'a claim' },
  '/v1/holds/{hold}/release': { reason: 'settled' },
  '/v1/batch': { items: [{ op: 'envelope', run: 'r', body: { agent: 'a', payload: {} } }] },
}

export interface DescribedRoute {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Any of them is enough; empty: open. */
  readonly scopes: readonly string[]
}

/** Every route, as the served description says. */
export async function describedRoutes(edge: TestEdge): Promise<DescribedRoute[]> {
  const response = await edge.app.request('/openapi.json')
  const { paths } = (await response.json()) as {
    paths: Record<string, Record<string, { security?: { bearer: string[] }[] }>>
  }
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { security }]) => ({
      method: method.toUpperCase() as DescribedRoute['method'],
      path,
      scopes: security?.[0]?.bearer ?? [],
    })),
  )
}

/** Asks a route on a run; a stream is left at once. */
export async function ask(
  edge: TestEdge,
  { method, path }: Pick<DescribedRoute, 'method' | 'path'>,
  values: { run: string; headers: Record<string, string> },
): Promise<{ status: number; body: string }> {
  const target = path
    .replace('{run}', values.run)
    .replace(/\{(call|reservation|fork|approval|wait|signal)\}/, SOME_ID)
    .replace('{code}', 'internal')
  const body = BODIES[path]
  if (method === 'POST' && body === undefined) throw new Error(`no body is known for ${path}`)
  const response = await edge.app.request(target, {
    method,
    headers: { ...values.headers, ...(method === 'POST' && { 'content-type': 'application/json' }) },
    ...(method === 'POST' && { body: JSON.stringify(body) }),
  })
  if (response.headers.get('content-type') !== 'text/event-stream')
    return { status: response.status, body: await response.text() }
  await response.body?.cancel()
  return { status: response.status, body: '' }
}
