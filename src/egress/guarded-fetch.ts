/** @module A `fetch` that connects only to configured addresses: the address that is checked is the address that is used. */
import { lookup as dnsLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { buildConnector } from 'undici'
import { linkedSignal } from '../resources/linked-signal.ts'
import { DialError } from './dial-error.ts'
import {
  type AddressLibrary,
  addressFault,
  hostFault,
  parseTrusted,
  portOf,
  type Trusted,
} from './trusted-addresses.ts'

/** The allowed addresses, and the limits of an exchange in bytes and milliseconds. */
export interface TrustOptions {
  /**
   * Allowed targets; all others are refused. Host names (`api.example.com` at the default port of the scheme, or `api.example.com:8443`) are allowed at public
   * addresses. Loopback, private, link-local and other non-public addresses must be listed: `127.0.0.1:11434`, `10.1.0.0/16`.
   */
  readonly allow: readonly string[]
  /** Maximum size of a response body; default 32 MiB. */
  readonly maxResponseBytes?: number
  /** Timeout of a whole exchange, including its stream, in milliseconds; default 10 minutes. */
  readonly timeoutMs?: number
  /** Resolves a host name to addresses, once per connection; default: the system's resolver. */
  readonly lookup?: (host: string) => Promise<readonly string[]>
}

const RESPONSE_MAX_BYTES = 32 * 1024 * 1024
const EXCHANGE_MS = 10 * 60_000
const CONNECT_MS = 10_000

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/**
 * Redirects are refused. `refusal` converts each `DialError` to the error that is thrown: `invalid-allow` immediately, the others by the request or while its
 * body is read.
 */
export function guardedFetch(options: TrustOptions, refusal: (error: DialError) => Error = (error) => error): Fetch {
  const { maxResponseBytes = RESPONSE_MAX_BYTES } = options
  const translate = (error: unknown): unknown => (error instanceof DialError ? refusal(error) : error)
  const exchange = exchanges(options, translate)
  return async (input, init = {}) => {
    const response = await exchange(input, init).catch((error: unknown) => {
      // `fetch` wraps a refusal in a "fetch failed" error, so the cause is thrown instead.
      throw translate(error instanceof Error && error.cause instanceof DialError ? error.cause : error)
    })
    const { status, statusText, headers } = response
    const tooLarge = () =>
      translate(new DialError('response-too-large', `the response has more than ${maxResponseBytes} bytes`))
    const stream = response.body as ReadableStream<Uint8Array> | null
    const body = stream === null ? null : limited(stream, maxResponseBytes, tooLarge)
    return new Response(body, { status, statusText, headers: [...headers] })
  }
}

/** Returns a function that makes one exchange and refuses redirects. */
function exchanges(options: TrustOptions, translate: (error: unknown) => unknown) {
  const trusted = trustedBy(options, translate)
  // Loaded at the first request, to save the load time if there is none.
  let opened: ReturnType<typeof openTrusted> | undefined
  return async (input: string | URL | Request, init: RequestInit) => {
    const url = input instanceof Request ? input.url : String(input)
    const limit = AbortSignal.timeout(options.timeoutMs ?? EXCHANGE_MS)
    const signal = linkedSignal(limit, init.signal ?? undefined)
    opened ??= openTrusted(trusted, options)
    const { fetch, dispatcher } = await opened
    const request = { ...init, signal, redirect: 'manual', dispatcher }
    const response = await fetch(url, request as Parameters<typeof fetch>[1])
    const { status } = response
    if (status < 300 || status >= 400) return response
    await response.body?.cancel()
    throw new DialError('redirect-refused', `${url} redirects (${status}): name the place itself`, { status })
  }
}

function trustedBy({ allow }: TrustOptions, translate: (error: unknown) => unknown): readonly Trusted[] {
  try {
    return parseTrusted(allow)
  } catch (error) {
    throw translate(error)
  }
}

/** Inputs for checking the addresses of a host name. */
interface Trust {
  readonly trusted: readonly Trusted[]
  readonly lookup: NonNullable<TrustOptions['lookup']>
  readonly library: AddressLibrary
}

async function openTrusted(trusted: readonly Trusted[], { lookup = systemLookup }: TrustOptions) {
  // Each import has its own catch, so that bundlers treat a missing package as optional. Whole modules are imported, because a bundler may not provide named
  // exports of a CommonJS package.
  const [{ default: undici }, { default: library }] = await Promise.all([
    import('undici').catch(missing),
    import('ipaddr.js').catch(missing),
  ])
  const { Agent, buildConnector, fetch } = undici
  const connect = trustedConnector(buildConnector({ timeout: CONNECT_MS }), { trusted, lookup, library })
  return { fetch, dispatcher: new Agent({ connect }) }
}

function missing(cause: unknown): never {
  const advice = 'it needs the packages undici and ipaddr.js: npm install undici ipaddr.js'
  throw new DialError('package-missing', advice, { cause: String(cause) })
}

function trustedConnector(connect: buildConnector.connector, trust: Trust): buildConnector.connector {
  return (query, done) => {
    checkedAddress(trust, query)
      .then((address) => {
        // A certificate is issued for the requested name, not for its address.
        const servername = query.servername ?? (isIP(query.hostname) === 0 ? query.hostname : undefined)
        connect({ ...query, hostname: address, ...(servername !== undefined && { servername }) }, done)
      })
      .catch((error: unknown) => done(error instanceof Error ? error : new Error(String(error)), null))
  }
}

/** Resolves a host name to one address. All addresses of the name must be allowed, because a name that mixes allowed and other addresses is suspicious. */
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

function refused(detail: string, host: string): DialError {
  return new DialError('address-refused', detail, { host })
}

/** Counts decompressed bytes while they are read; a longer body ends with an error. */
function limited(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  tooLarge: () => unknown,
): ReadableStream<Uint8Array> {
  let bytes = 0
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (portion, out) => {
        bytes += portion.byteLength
        if (bytes > maxBytes) throw tooLarge()
        out.enqueue(portion)
      },
    }),
  )
}
