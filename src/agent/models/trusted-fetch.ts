/** @module A `fetch` that dials only what it was told to trust: the address that is checked is the address that is connected to. */
import { lookup as dnsLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { buildConnector } from 'undici'
import { linkedSignal } from '../../resources/linked-signal.ts'
import { AgentError } from '../errors.ts'
import {
  type AddressLibrary,
  addressFault,
  hostFault,
  parseTrusted,
  portOf,
  type Trusted,
} from './trusted-addresses.ts'

/** Which addresses may be dialled, and the bounds of an exchange in bytes and milliseconds. */
export interface TrustOptions {
  /**
   * What may be dialled; nothing else is. Host names (`api.example.com`, at the port of the scheme; `api.example.com:8443`) are dialled
   * at public addresses. Loopback, private, link-local and all other addresses must be named: `127.0.0.1:11434`, `10.1.0.0/16`.
   */
  readonly allow: readonly string[]
  /** Largest response body; default 32 MiB. */
  readonly maxResponseBytes?: number
  /** Milliseconds for a whole exchange, its stream included; default 10 minutes. */
  readonly timeoutMs?: number
  /** Addresses of a host name; default: the system's resolver. Asked once for each connection. */
  readonly lookup?: (host: string) => Promise<readonly string[]>
}

const RESPONSE_MAX_BYTES = 32 * 1024 * 1024
const EXCHANGE_MS = 10 * 60_000
const CONNECT_MS = 10_000

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/**
 * Fits the `fetch` option of the `openai`, `@anthropic-ai/sdk` and `ollama` clients. Redirects are refused. Throws `address-refused`,
 * `redirect-refused`, `response-too-large` (while the body is read), `invalid-allow` at once.
 * @example
 * ```ts
 * import { trustedFetch } from 'countersign/agent'
 * import OpenAI from 'openai'
 *
 * const baseURL = process.env.OPENAI_BASE_URL ?? 'https://models.example.com/v1'
 * const openai = new OpenAI({ baseURL, fetch: trustedFetch({ allow: [new URL(baseURL).host] }) })
 * console.log(openai.baseURL === baseURL)
 * ```
 */
export function trustedFetch(options: TrustOptions): Fetch {
  const { maxResponseBytes = RESPONSE_MAX_BYTES, timeoutMs = EXCHANGE_MS } = options
  const trusted = parseTrusted(options.allow)
  // Loaded at the first request: whoever dials nothing need not wait for it.
  let opened: ReturnType<typeof openTrusted> | undefined
  return async (input, init = {}) => {
    const url = input instanceof Request ? input.url : String(input)
    const limit = AbortSignal.timeout(timeoutMs)
    const signal = linkedSignal(limit, init.signal ?? undefined)
    opened ??= openTrusted(trusted, options)
    const { fetch, dispatcher } = await opened
    const request = { ...init, signal, redirect: 'manual', dispatcher }
    const response = await fetch(url, request as Parameters<typeof fetch>[1]).catch((error: unknown) => {
      // What was refused says so itself; fetch hides it behind "fetch failed".
      throw error instanceof Error && error.cause instanceof AgentError ? error.cause : error
    })
    const { status, statusText } = response
    if (status >= 300 && status < 400) {
      await response.body?.cancel()
      throw new AgentError('redirect-refused', `${url} redirects (${status}): name the place itself`, { status })
    }
    const body = response.body === null ? null : limited(response.body as ReadableStream<Uint8Array>, maxResponseBytes)
    return new Response(body, { status, statusText, headers: [...response.headers] })
  }
}

/** What the address behind a name is judged by. */
interface Trust {
  readonly trusted: readonly Trusted[]
  readonly lookup: NonNullable<TrustOptions['lookup']>
  readonly library: AddressLibrary
}

async function openTrusted(trusted: readonly Trusted[], { lookup = systemLookup }: TrustOptions) {
  const needed = Promise.all([import('undici'), import('ipaddr.js')])
  const [{ Agent, buildConnector, fetch }, { default: library }] = await needed.catch((cause: unknown) => {
    const advice = 'trustedFetch needs the packages undici and ipaddr.js: npm install undici ipaddr.js'
    throw new AgentError('package-missing', advice, { cause: String(cause) })
  })
  const connect = trustedConnector(buildConnector({ timeout: CONNECT_MS }), { trusted, lookup, library })
  return { fetch, dispatcher: new Agent({ connect }) }
}

function trustedConnector(connect: buildConnector.connector, trust: Trust): buildConnector.connector {
  return (query, done) => {
    checkedAddress(trust, query)
      .then((address) => {
        // A certificate is for the name that was requested, not for its address.
        const servername = query.servername ?? (isIP(query.hostname) === 0 ? query.hostname : undefined)
        connect({ ...query, hostname: address, ...(servername !== undefined && { servername }) }, done)
      })
      .catch((error: unknown) => done(error instanceof Error ? error : new Error(String(error)), null))
  }
}

/** One address, all of whose siblings may be dialled as well: a name that mixes them is up to something. */
async function checkedAddress(
  { trusted, lookup, library }: Trust,
  { hostname, port, protocol }: buildConnector.Options,
): Promise<string> {
  const target = { host: hostname, port: portOf(port, protocol), protocol }
  const named = hostFault(trusted, target)
  if (named !== undefined) throw refused(named, hostname)
  const addresses = isIP(hostname) === 0 ? await lookup(hostname) : [hostname]
  const fault = addresses
    .map((address) => addressFault(library, { trusted, target, address }))
    .find((each) => each !== undefined)
  const [address] = addresses
  if (fault !== undefined || address === undefined) throw refused(fault ?? `${hostname} has no address`, hostname)
  return address
}

async function systemLookup(host: string): Promise<readonly string[]> {
  return (await dnsLookup(host, { all: true })).map(({ address }) => address)
}

function refused(why: string, host: string): AgentError {
  return new AgentError('address-refused', why, { host })
}

/** Counted as it is read, decompressed: what is longer breaks off. */
function limited(body: ReadableStream<Uint8Array>, maxBytes: number): ReadableStream<Uint8Array> {
  let bytes = 0
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (portion, out) => {
        bytes += portion.byteLength
        if (bytes > maxBytes) throw new AgentError('response-too-large', `the response has more than ${maxBytes} bytes`)
        out.enqueue(portion)
      },
    }),
  )
}
