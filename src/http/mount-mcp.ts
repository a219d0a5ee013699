/**
 * @module Mounts the MCP proxy at `/mcp/{name}` and the MCP server over the ledger at `/mcp`: the caller is checked as on every route, and the answer comes
 * from the proxy or the server.
 */
import { Buffer } from 'node:buffer'
import type { OpenAPIHono } from '@hono/zod-openapi'
import { READ_OWN_RUNS, WRITE_NAMED_RUNS } from '../access/access.ts'
import { problemResponse } from './answers.ts'
import type { AppOptions, McpEntrance } from './app-deps.ts'
import { readBytes } from './body.ts'
import { admitted, bearerToken, type Gate } from './dispatch.ts'
import { failure } from './failure.ts'
import type { HttpContext, HttpEnv } from './http-context.ts'

const PATH = '/mcp/:name'
/** A question has a few arguments. */
const READ_MAX_BYTES = 1024 * 1024

export function mountMcp(app: OpenAPIHono<HttpEnv>, gate: Gate, entrance: McpEntrance): void {
  const track = gate.metrics.tracker('any', '/mcp/{name}')
  app.all(PATH, async (c) => {
    const startedMs = track.begin()
    const response = await answered(app, c, { gate, entrance }).catch((error: unknown) => failure(error, gate.deps, c))
    track.end(startedMs, response.status)
    return response
  })
}

/** The MCP server over this ledger: read-only, so any token that reads runs may ask; each read is checked and recorded as the route it calls. */
export function mountMcpReads(app: OpenAPIHono<HttpEnv>, gate: Gate, reads: NonNullable<AppOptions['mcpReads']>): void {
  const track = gate.metrics.tracker('any', '/mcp')
  const handle = async (c: HttpContext): Promise<Response> => {
    const who = await admitted(c, gate, { access: READ_OWN_RUNS, kind: 'read' })
    if (who instanceof Response) return who
    const body = await readBytes({ c }, READ_MAX_BYTES)
    if (!body.ok) return problemResponse(body.problem, c.req.path)
    const { method, headers } = c.req.raw
    const ledger = async (path: string, init: RequestInit): Promise<Response> => app.request(path, init)
    return reads({ method, headers, body: Buffer.from(body.value).toString('utf8'), ledger })
  }
  app.all('/mcp', async (c) => {
    const startedMs = track.begin()
    const response = await handle(c).catch((error: unknown) => failure(error, gate.deps, c))
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
