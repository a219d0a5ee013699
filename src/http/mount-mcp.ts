/** @module Mounts the MCP proxy at `/mcp/{name}`: the caller is checked as on every route, and the answer comes from the proxy. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import { WRITE_NAMED_RUNS } from '../access/access.ts'
import type { McpEntrance } from './app-deps.ts'
import { admitted, bearerToken, type Gate } from './dispatch.ts'
import { failure } from './failure.ts'
import type { HttpContext, HttpEnv } from './http-context.ts'

const PATH = '/mcp/:name'

export function mountMcp(app: OpenAPIHono<HttpEnv>, gate: Gate, entrance: McpEntrance): void {
  const track = gate.metrics.tracker('any', '/mcp/{name}')
  app.all(PATH, async (c) => {
    const startedMs = track.begin()
    const response = await answered(app, c, { gate, entrance }).catch((error: unknown) => failure(error, gate.deps, c))
    track.end(startedMs, response.status)
    return response
  })
}

async function answered(
  app: OpenAPIHono<HttpEnv>,
  c: HttpContext,
  { gate, entrance }: { readonly gate: Gate; readonly entrance: McpEntrance },
): Promise<Response> {
  const who = await admitted(c, gate, { access: WRITE_NAMED_RUNS, kind: 'write' })
  if (who instanceof Response) return who
  const gone = new AbortController()
  const { outgoing } = c.env ?? {}
  const { signal } = c.req.raw
  outgoing?.once('close', () => gone.abort())
  signal.addEventListener('abort', () => gone.abort(), { once: true })
  return entrance.handle({
    request: c.req.raw,
    name: c.req.param('name') ?? '',
    caller: who,
    token: bearerToken(c.req.header('authorization')) ?? '',
    gone: gone.signal,
    // The proxy's commands run under the caller's token and pass through the application like any other request.
    ledger: async (url, init) => app.request(url, init),
  })
}
