/** @module The HTTP edge over a real ledger, with tokens a test may make: no socket, no mocks. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Header } from '../../schemas/header.ts'
import { revocable } from '../../src/access/revocable.ts'
import { createApp } from '../../src/http/app.ts'
import type { AppOptions, HttpLog, HttpSettings } from '../../src/http/app-deps.ts'
import type { HttpEnv } from '../../src/http/http-context.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import {
  createTokenVerifier,
  issueToken,
  publicJwks,
  type TokenRequest,
  type TokenVerifierOptions,
} from '../../src/signing/tokens.ts'
import { checkAnswers } from './checked-answers.ts'
import { type TestLedger, type TestLedgerOptions, testLedger } from './test-ledger.ts'
import { freshTenant } from './test-store.ts'

const ISSUER = 'test-issuer'
const AUDIENCE = 'test-audience'
export const ALL_SCOPES = [
  'runs:write',
  'runs:read',
  'payloads:read',
  'runs:admin',
  'subjects:erase',
  'holds:write',
  'approvals:write',
  'signals:write',
  'audit:read',
  'audit:export',
  'admin',
]

interface Logged {
  readonly level: string
  readonly fields: object
  readonly message: string
}

export interface TestEdge extends AsyncDisposable {
  readonly app: OpenAPIHono<HttpEnv>
  readonly inner: TestLedger
  /** Of every token, unless told otherwise. */
  readonly tenant: string
  /** A tenant that none of this edge's tokens is of by itself. */
  readonly foreign: string
  readonly draining: AbortController
  readonly logs: readonly Logged[]
  readonly token: (claims?: Partial<TokenRequest>) => Promise<string>
  /** POST with a JSON body and a token of all scopes, unless told otherwise. */
  readonly post: (path: string, body: unknown, headers?: Record<string, string>) => Promise<Response>
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Response>
  /** Starts a run and says its id. */
  readonly started: (id: string, more?: object) => Promise<string>
}

export interface TestEdgeOptions extends TestLedgerOptions {
  readonly settings?: Partial<HttpSettings>
  /** Default: one of its own. */
  readonly tenant?: string
  /** Of tokens and of the edge, instead of the real one; the ledger has its own. */
  readonly now?: () => number
  readonly trusted?: TokenVerifierOptions['trusted']
  readonly disks?: AppOptions['disks']
  readonly mcp?: AppOptions['mcp']
  readonly mcpReads?: AppOptions['mcpReads']
  readonly retentionPasses?: AppOptions['retention']
  readonly payloadScope?: 'implied' | 'required'
  /** Whether tokens can be revoked, as in a server. Default: false. */
  readonly revocable?: boolean
  /** Wraps the ledger, to make it fail or wait. */
  readonly wrap?: (ledger: Ledger) => Ledger
}

export async function testEdge(options: TestEdgeOptions = {}): Promise<TestEdge> {
  const inner = await testLedger({ realClock: true, ...options })
  const [tenant, foreign] = [options.tenant ?? freshTenant('acme'), freshTenant('beta')]
  const draining = new AbortController()
  const logs: Logged[] = []
  const now = options.now ?? Date.now
  const { trusted, payloadScope } = options
  const trust = { ...(trusted && { trusted }), ...(payloadScope && { payloadScope }) }
  const verifier = createTokenVerifier({ keys: inner.keys.current, issuer: ISSUER, audience: AUDIENCE, now, ...trust })
  const app = createApp({
    ledger: options.wrap?.(inner.ledger) ?? inner.ledger,
    verifier: options.revocable === true ? revocable(verifier, inner.ledger.tokens.revocations) : verifier,
    jwks: () => publicJwks(inner.keys.current()),
    log: memoryLog(logs),
    version: '0.0.0-test',
    ...(options.memory && { memory: options.memory }),
    ...(options.work && { work: options.work }),
    settings: { ratePerSecond: 0, ...options.settings },
    ...(options.disks && { disks: options.disks }),
    mcp: options.mcp,
    mcpReads: options.mcpReads,
    ...(options.retentionPasses && { retention: options.retentionPasses }),
    draining: draining.signal,
    now,
  })
  checkAnswers(app)
  const token = (claims: Partial<TokenRequest> = {}): Promise<string> =>
    issueToken({
      keys: inner.keys.current(),
      issuer: ISSUER,
      audience: AUDIENCE,
      subject: 'alice',
      tenant,
      scopes: ALL_SCOPES,
      ttlSeconds: 600,
      now: now(),
      ...claims,
    })
  const all = { authorization: `Bearer ${await token()}` }
  const get: TestEdge['get'] = async (path, headers = {}) => app.request(path, { headers: { ...all, ...headers } })
  const post: TestEdge['post'] = async (path, body, headers = {}) =>
    app.request(path, {
      method: 'POST',
      headers: { ...all, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : body instanceof Uint8Array ? Buffer.from(body) : JSON.stringify(body),
    })
  const started: TestEdge['started'] = async (id, more = {}) => {
    const response = await post('/v1/runs', { id, name: 'test', ...more })
    if (response.status !== 201) throw new Error(`not started: ${await response.text()}`)
    return id
  }
  return {
    app,
    inner,
    tenant,
    foreign,
    draining,
    logs,
    token,
    get,
    post,
    started,
    [Symbol.asyncDispose]: async () => {
      draining.abort()
      await inner[Symbol.asyncDispose]()
    },
  }
}

function memoryLog(logs: Logged[]): HttpLog {
  const at = (level: string) => (fields: object, message: string) => {
    logs.push({ level, fields, message })
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

export async function bearer(edge: TestEdge, claims: Partial<TokenRequest>): Promise<{ authorization: string }> {
  return { authorization: `Bearer ${await edge.token(claims)}` }
}

/** The members that tests look at. Which of them an answer has is the test's business: one that is missing is undefined. */
export interface AnswerBody {
  readonly type: string
  readonly code: string
  readonly status: string | number
  readonly instance: string
  readonly pointer: string | undefined
  readonly header: string
  readonly detail: string
  readonly errors: readonly { readonly pointer: string; readonly message: string }[]
  readonly limit: number
  readonly actual: number
  readonly expected: number
  readonly conflicting: string
  readonly findings: readonly { readonly rule: string }[]
  readonly restored: { readonly context: object }
  readonly runId: string
  readonly revision: number
  readonly digest: string
  readonly contextDigest: string
  readonly context: Readonly<Record<string, unknown>>
  readonly callId: string
  readonly fence: number
  readonly result: unknown
  readonly tokens: number
  readonly items: readonly ItemBody[]
  readonly nextCursor: string | null
  readonly tailCursor: string | null
  readonly asOf: string | null
  readonly keys: readonly object[]
  readonly errorId: string
  readonly until: string
  readonly version: string
  readonly approvalId: string
  readonly argsDigest: string
}

/** An event, a row or an answer of a batch. */
interface ItemBody {
  readonly header: Header
  readonly data: object
  readonly salt: string
  readonly digest: string
  readonly runId: string
  readonly name: string
  readonly status: string | number
  readonly body: AnswerBody
}

export async function bodyOf(response: Response): Promise<AnswerBody> {
  return (await response.json()) as AnswerBody
}
