/** @module Selects the headers to forward in both directions: none that identify the client to the ledger, and none of the connection. Pure. */
import type { Provider } from './provider.ts'

const OF_CONNECTION = [
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]
const NOT_TO_UPSTREAM: ReadonlySet<string> = new Set([
  ...OF_CONNECTION,
  'accept-encoding',
  'authorization',
  'cookie',
  'forwarded',
  'x-api-key',
  'x-real-ip',
])
/** The body is already decoded when it is forwarded. */
const NOT_TO_CLIENT: ReadonlySet<string> = new Set([...OF_CONNECTION, 'content-encoding', 'set-cookie'])
const OWN = /^x-(countersign|forwarded)-/

/** `key`: the client's own key; any header that contains it is dropped. */
export function toUpstream(
  headers: Headers,
  of: { readonly provider: Provider; readonly upstreamKey: string; readonly key: string },
): Headers {
  const passed = [...headers].filter(
    ([name, value]) => !NOT_TO_UPSTREAM.has(name) && !OWN.test(name) && !value.includes(of.key),
  )
  const sent = new Headers(passed)
  sent.set('accept-encoding', 'identity')
  sent.set(...of.provider.keyHeader(of.upstreamKey))
  return sent
}

export function toClient(headers: Headers, own: Readonly<Record<string, string>>): Headers {
  return new Headers([...[...headers].filter(([name]) => !NOT_TO_CLIENT.has(name)), ...Object.entries(own)])
}
