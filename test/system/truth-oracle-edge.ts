/** @module The HTTP edge of a ledger that was opened in this process, or of a server, with a token for each tenant. */
import type { OpenLedger } from '../../src/compose/compose.ts'
import { createApp } from '../../src/http/app.ts'
import { MemoryBudget } from '../../src/resources/memory-budget.ts'
import { createTokenVerifier, issueToken, publicJwks } from '../../src/signing/tokens.ts'
import { ALL_SCOPES } from '../support/test-edge.ts'
import { uiClient } from '../support/ui-client.ts'

const [issuer, audience] = ['test-issuer', 'test-audience']
/** For every exit at once. */
const ROOM_BYTES = 8 * 1024 ** 3
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore }
function ignore(): void {}

export interface Answer {
  readonly status: number
  readonly bytes: Uint8Array
  readonly text: string
  /** The answer broke off. */
  readonly cut: boolean
}

export interface Edge {
  readonly get: (path: string) => Promise<Answer>
  readonly post: (path: string, body: object) => Promise<Answer>
  /** A page, for a session of the tenant. */
  readonly page: (path: string) => Promise<Answer>
}

export async function edgeOver({ ledger, keys }: OpenLedger, tenant: string): Promise<Edge> {
  const verifier = createTokenVerifier({ keys: keys.current, issuer, audience, now: Date.now })
  const app = createApp({
    ...{ ledger, verifier, version: '0.0.0-test', log: silent, draining: new AbortController().signal, now: Date.now },
    jwks: () => publicJwks(keys.current()),
    settings: { ratePerSecond: 0 },
    memory: new MemoryBudget(ROOM_BYTES),
  })
  const token = await issueToken({
    ...{ keys: keys.current(), issuer, audience, tenant, scopes: ALL_SCOPES, ttlSeconds: 600, now: Date.now() },
    subject: `${tenant}-agent`,
  })
  return edgeBy(async (path, init) => app.request(path, init), token)
}

type Request = (path: string, init: RequestInit) => Promise<Response>

/** With a token of the tenant. */
export function edgeOfServer(url: string, token: string): Edge {
  return edgeBy((path, init) => fetch(url + path, { ...init, redirect: 'manual' }), token)
}

function edgeBy(request: Request, token: string): Edge {
  const headers = { authorization: `Bearer ${token}` }
  const ui = uiClient({ app: { request } as never })
  let isSignedIn = false
  return {
    get: async (path) => read(await request(path, { headers })),
    post: async (path, body) =>
      read(
        await request(path, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      ),
    page: async (path) => {
      if (!isSignedIn) {
        await ui.html('/ui/sign-in')
        isSignedIn = (await ui.post('/ui/sign-in', { token })).status === 303
      }
      return read(await ui.get(path))
    },
  }
}

async function read(response: Response): Promise<Answer> {
  const parts: Uint8Array[] = []
  let cut = false
  try {
    for await (const part of response.body ?? []) parts.push(part as Uint8Array)
  } catch {
    cut = true
  }
  const bytes = Buffer.concat(parts)
  return { status: response.status, bytes, text: bytes.toString('utf8'), cut }
}

/** The questions for which the files that follow the store are made. */
export async function askEvery(edgeOf: (tenant: string) => Promise<Edge>): Promise<void> {
  for (const tenant of ['acme', 'beta']) {
    const edge = await edgeOf(tenant)
    for (const path of ['/v1/runs', '/v1/audit/runs', '/v1/audit/search?text=harvest']) {
      const answer = await edge.get(path)
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`)
    }
  }
}
