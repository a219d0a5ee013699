/**
 * @module The requests of the SDK on kept connections. Node's `fetch` takes three times the processor time of undici's `request`, so commands are sent with the
 * latter where that package is installed. Everything else goes to the global `fetch`, and so does every request if the program has its own `fetch`, or a
 * dispatcher of another copy of undici, which may know a proxy or a certificate. Node's own looks the same, if `fetch` was called before, or `node:http`
 * imported with Node 22.
 */
import type { Dispatcher } from 'undici'

type Undici = typeof import('undici')

/** The part of a `Response` that a client uses. */
type FetchAnswer = Pick<Response, 'ok' | 'status' | 'url' | 'body' | 'text'> & {
  readonly headers: Pick<Headers, 'get'>
}

interface Quick {
  readonly undici: Undici
  readonly fetch: typeof globalThis.fetch
  /** Node's own dispatcher for `fetch`, if it was not set before. */
  readonly nodes: unknown
}

/** Where every version of undici, Node's included, keeps the dispatcher of `fetch`, and where those of today keep it for `request` as well. */
const OF_FETCH = Symbol.for('undici.globalDispatcher.1')
const OF_REQUEST = Symbol.for('undici.globalDispatcher.2')
const globals = globalThis as { [OF_FETCH]?: object; [OF_REQUEST]?: Dispatcher }
/** By a name that bundlers do not follow: a program without the package is no larger for it. */
const PACKAGE = ['undici'].join()
const OK = 200
const REDIRECT = 300
const REFUSED = 400

let loading: Promise<Quick | undefined> | undefined

/** A `fetch` for `createClient`. Loads undici at the first call, once for the process. */
export function keptFetch(): (url: string, init: RequestInit) => Promise<FetchAnswer> {
  loading ??= load().catch(() => undefined)
  return async (url, init) => {
    const quick = await loading
    // Bodies of commands are texts; a redirect would have to be followed otherwise.
    const dispatcher = typeof init.body === 'string' && init.redirect === 'error' ? dispatcherOf(quick) : undefined
    return quick === undefined || dispatcher === undefined
      ? globalThis.fetch(url, init)
      : sent(quick.undici, dispatcher, url, init)
  }
}

/** Undefined if the package is missing, or if the dispatcher of `fetch` is one that it may not understand. */
async function load(): Promise<Quick | undefined> {
  const { fetch } = globalThis
  const isNode = process.versions.bun === undefined && process.versions.deno === undefined
  const isUsed = globals[OF_FETCH] !== undefined
  if (!isNode || (isUsed && globals[OF_REQUEST] === undefined)) return undefined
  // Makes Node set its own dispatcher, to be told from another one that is set later.
  if (!isUsed) await fetch('data:,')
  const nodes = isUsed ? undefined : globals[OF_FETCH]
  const { default: undici }: { default: Undici } = await import(PACKAGE)
  // With an older Node, the package puts its own dispatcher in that place; the `fetch` of this program must not change.
  if (nodes !== undefined) globals[OF_FETCH] = nodes
  return { undici, fetch, nodes }
}

/** Undefined if only the global `fetch` knows how to reach the ledger. */
function dispatcherOf(quick: Quick | undefined): Dispatcher | undefined {
  if (quick === undefined || quick.fetch !== globalThis.fetch) return undefined
  const { [OF_FETCH]: current, [OF_REQUEST]: ours } = globals
  const isOne = current === ours || current === quick.nodes || current?.constructor.name === 'Dispatcher1Wrapper'
  return isOne ? ours : undefined
}

async function sent(undici: Undici, dispatcher: Dispatcher, url: string, init: RequestInit): Promise<FetchAnswer> {
  const { method = 'POST', signal = null } = init
  const headers = init.headers as Record<string, string>
  const options = { method: method as Dispatcher.HttpMethod, headers, body: init.body as string, signal, dispatcher }
  try {
    const answer = await undici.request(url, options)
    const status = answer.statusCode
    if (status >= REDIRECT && status < REFUSED) {
      await answer.body.dump()
      throw new Error('unexpected redirect')
    }
    const header = (name: string): string | null => [answer.headers[name] ?? []].flat().join(', ') || null
    const text = (): Promise<string> => answer.body.text()
    return { ok: status >= OK && status < REDIRECT, status, url, body: null, headers: { get: header }, text }
  } catch (cause) {
    if (signal?.aborted === true) throw cause
    // As `fetch` puts it.
    throw new TypeError('fetch failed', { cause })
  }
}
